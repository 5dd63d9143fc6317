"""Baselines without a model for tasks whose answer is a number."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from lumos_queue.records import Task
from lumos_queue.scoring.numerals import figures_in, numbers_in
from lumos_queue.scoring.numeric import close, read_number

Number = int | Fraction  #: whole numbers are of type int: computing with them takes a tenth of the time

#: Name of the rule, and what it makes of the first two and the last two numbers.
_RULES: dict[str, Callable[[Sequence[Number]], Number]] = {
    "sum of first two": lambda numbers: numbers[0] + numbers[1],
    "difference of first two": lambda numbers: abs(numbers[0] - numbers[1]),
    "product of first two": lambda numbers: numbers[0] * numbers[1],
    "difference of last two": lambda numbers: abs(numbers[-1] - numbers[-2]),
}
_UNREADABLE = -1  #: in place of the hash of an answer that is no number: Python's hashes are never -1
_PARTS = 16  #: in which hashes are counted, one after another: what is counted at once fits into little memory


def _numbers(question: str) -> Sequence[Number]:
    """Return the numbers of a question in order: in digits, and if there are fewer than two, also as words."""
    figures = figures_in(question)
    return figures if len(figures) >= 2 else numbers_in(question, words=True)


def numeric_baselines(tasks: Iterable[Task], gold: Callable[[Task], str]) -> dict[str, bytearray]:
    """Return the verdicts of rules without a model, by name of the rule: a byte, 0 or 1, for each task.

    `gold` returns a task's answer. `best constant` is an oracle: its answer is the answer that is right most often on
    the judged rows themselves, so it bounds every rule that ignores the question. Under the other rules, tasks with
    fewer than two numbers are wrong.

    Each task is read once and not retained; of its answer, a hash of 64 bits is.
    """
    verdicts = {name: bytearray() for name in _RULES}
    answers = array("q")
    for task in tasks:
        answer = read_number(gold(task))
        target = answer.numerator if answer is not None and answer.denominator == 1 else answer
        answers.append(_UNREADABLE if target is None else hash(str(target)))
        numbers = _numbers(task.question)
        for name, rule in _RULES.items():
            verdicts[name].append(target is not None and len(numbers) >= 2 and close(rule(numbers), target))
    constant = _find_commonest(answers)
    return verdicts | {"best constant": bytearray(answer == constant for answer in answers)}


def _find_commonest(answers: array[int]) -> int | None:
    """Return the most frequent hash, the first of several; None if no answer is a number."""
    candidates: dict[int, int] = {}  # the first of the commonest hashes of each part, and how often it occurs
    for part in range(_PARTS):
        counts = Counter(answer for answer in answers if answer % _PARTS == part and answer != _UNREADABLE)
        if counts:
            candidate = max(counts, key=counts.__getitem__)
            candidates[candidate] = counts[candidate]
    largest = max(candidates.values(), default=0)
    return next((answer for answer in answers if candidates.get(answer) == largest), None)
