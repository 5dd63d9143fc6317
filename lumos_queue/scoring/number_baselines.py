"""Rules without a model, for tasks whose answer is a number: what a score is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from lumos_queue.records import Task
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import close, read_number

#: Name of the rule, and what it makes of the first two and the last two numbers.
_RULES: dict[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "sum of first two": lambda numbers: numbers[0] + numbers[1],
    "difference of first two": lambda numbers: abs(numbers[0] - numbers[1]),
    "product of first two": lambda numbers: numbers[0] * numbers[1],
    "difference of last two": lambda numbers: abs(numbers[-1] - numbers[-2]),
}


def _numbers(question: str) -> list[Fraction]:
    """Its numbers, in order: those in figures, or when there are fewer than two, those in words as well."""
    figures = numbers_in(question)
    return figures if len(figures) >= 2 else numbers_in(question, words=True)


def numeric_baselines(tasks: Sequence[Task], gold: Callable[[Task], str]) -> dict[str, list[bool]]:
    """What rules without a model get right: name of the rule to one verdict per task; `gold` gives a task's answer.

    `best constant` is an oracle: the one answer that is right most often is chosen on the very rows it is judged on, so
    it bounds every rule that ignores the question. Tasks with fewer than two numbers are wrong under the other rules.
    """
    golds = [read_number(gold(task)) for task in tasks]
    numbers = [_numbers(task.question) for task in tasks]
    verdicts = {
        name: [
            target is not None and len(found) >= 2 and close(rule(found), target)
            for target, found in zip(golds, numbers, strict=True)
        ]
        for name, rule in _RULES.items()
    }
    common = Counter(target for target in golds if target is not None).most_common(1)
    constant = common[0][0] if common else None
    verdicts["best constant"] = [target is not None and target == constant for target in golds]
    return verdicts
