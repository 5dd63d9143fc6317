"""Check the level `perturbed`: whether an annotation stays right when the numbers of the question change.

Each number of the question gets another value of similar size. A literal in the actions changes likewise if it equals
such a number, or a number that follows from it (0.25 from 25%). The source's program with the same changes gives the
expected answer. Changes are used only if all positive results of this program stay positive and all whole results stay
whole, because a program that divides apples into halves proves nothing.

Some literals are neither in the question nor constants that a word names (rationales/maths/constants.py). They were
calculated elsewhere, so their values for other numbers are unknown. An annotation with such a literal does not reach
the level, and a source's program with such a literal is not used.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lumos_queue.actions.base import StatelessActions
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.commands import digest
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.question_numbers import Changes, question_numbers
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, Annotation, Task
from lumos_queue.scoring.numbers import MAX_DIGITS, decimal_places, show_number
from lumos_queue.scoring.numeric import close, read_number

SUCCESSES = 3  #: changes under which an annotation must give the expected answer
MAX_TRIES = 120  #: attempts to find changes that the source's program allows

_LITERAL = re.compile(r"(?<![\w.^])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![\w.^])\.[0-9]+")
#: `2 / 3` in a formula: read as two thirds.
_FRACTION = re.compile(r"(?<![\w.^])([0-9]{1,30}) ?/ ?([1-9][0-9]{0,30})(?![\w.])")


@dataclass(frozen=True, slots=True)
class PerturbationResult:
    """The result of the check. `passed`: right for enough changes. `differs`: the first difference as text, or ''."""

    passed: bool
    differs: str = ""


async def passes_perturbation(
    source: Benchmark, task: Task, annotation: Annotation | Sequence[Action], interface: StatelessActions
) -> bool:
    """Return whether an annotation, or the actions of a successful episode, is right for other numbers.

    The numbers of the task are replaced, and the actions must give the right answers to the new tasks.
    """
    return (await perturbation(source, task, annotation, interface)).passed


async def perturbation(
    source: Benchmark,
    task: Task,
    annotation: Annotation | Sequence[Action],
    interface: StatelessActions,
    successes: int = SUCCESSES,
) -> PerturbationResult:
    """Return the result of the check for `successes` changes. Raises InfrastructureError if actions cannot run."""
    reference = source.reference(task)
    if reference is None or not reference.programs:
        return PerturbationResult(False)
    known_values = collect_known_numbers(source, task)
    if any(unknown_numbers(program, known_values) for program in reference.programs):
        return PerturbationResult(False)
    actions = _actions(annotation)
    first = [await _values(program, {}, interface) for program in reference.programs]
    if any(values is None for values in first):
        return PerturbationResult(False)
    agreements = 0
    visited: set[tuple[Fraction, ...]] = set()
    for changes in candidates(task):
        if (key := tuple(changes.values())) in visited:
            continue
        visited.add(key)
        answers = await _compute_answers(reference.programs, first, changes, interface)  # type: ignore[arg-type]
        if answers is None:
            continue
        if len(answers) > 1:
            return PerturbationResult(False)
        (answer,) = answers
        annotation_values = await _values(actions, changes, interface)
        if annotation_values is None or annotation_values[-1] is None or not close(annotation_values[-1], answer):
            answer_text = (
                "nothing"
                if annotation_values is None or annotation_values[-1] is None
                else show_number(annotation_values[-1], True)
            )
            replacements = ", ".join(
                f"{show_number(old, True)} as {show_number(new, True)}" for old, new in changes.items()
            )
            return PerturbationResult(
                False, f"gives {answer_text}, the source {show_number(answer, True)} with {replacements}"
            )
        agreements += 1
        if agreements == successes:
            return PerturbationResult(not unknown_numbers(actions, known_values))
    return PerturbationResult(False)


def collect_known_numbers(source: Benchmark, task: Task) -> frozenset[Fraction]:
    """Return the numbers of the question, and the constants that the question or the rationale names."""
    try:
        text = f"{task.question}\n{source.rationale(task)}"
    except NotConvertible:
        text = task.question
    return question_numbers(task.question).numbers | find_constants(text)


def unknown_numbers(actions: Sequence[Action], known_values: Collection[Fraction]) -> list[Fraction]:
    """Return the numbers in the actions' arguments that are not among the known values."""
    literals = []
    for action in actions:
        rest = _FRACTION.sub(lambda match: " " if _parts(match) in known_values else match[0], action.arguments)
        literals += [literal for literal in map(_value, _LITERAL.findall(rest)) if literal not in known_values]
    return literals


def _parts(fraction: re.Match) -> Fraction | None:
    """Return the value of a fraction such as `2 / 3`; None for a division such as `500 / 5`."""
    over, under = int(fraction[1]), int(fraction[2])
    return Fraction(over, under) if over < under else None


async def _compute_answers(
    programs: Sequence[Sequence[Action]],
    first: Sequence[Sequence[Fraction | None]],
    changes: Changes,
    interface: StatelessActions,
) -> set[Fraction] | None:
    """Return the answers of the programs with the changes; None if a program fails or its results make no sense."""
    answers: set[Fraction] = set()
    for program, before in zip(programs, first, strict=True):
        values = await _values(program, changes, interface, before)
        if values is None or values[-1] is None:
            return None
        answers.add(values[-1])
    return answers


def _is_as_sensible(now: Fraction | None, before: Fraction | None) -> bool:
    if before is None or now is None:
        return before is None
    return (now > 0 or before <= 0) and (now.denominator == 1 or before.denominator > 1)


async def _values(
    actions: Sequence[Action], changes: Changes, interface: StatelessActions, before: Sequence[Fraction | None] = ()
) -> list[Fraction | None] | None:
    """Return the numbers that the actions give (None for an equation), followed by the answer.

    Return None if an action fails, or if its number makes no sense compared with that in `before`, without changes.
    """
    variables, values, answer = {}, [], None
    for position, action in enumerate(actions):
        execution = await interface.execute(
            replace(action, arguments=replace_literals(action.arguments, changes)), variables
        )
        if not execution.ok:
            return None
        variables.update(zip(action.variables, execution.values, strict=False))
        values.append(read_number(execution.result))
        if before and not _is_as_sensible(values[-1], before[position]):
            return None
        if action.variables and (answer is None or _rank(action.variables[-1]) >= _rank(answer)):
            answer = action.variables[-1]
    return [*values, read_number(str(variables[answer]["text"]))] if answer else None


def _rank(variable: str) -> float:
    """Return a rank: the variable of the highest rank is the answer, `Output` or the R with the highest number."""
    return float("inf") if variable == "Output" else int(variable[1:])


def replace_literals(text: str, changes: Changes) -> str:
    """Return the text with changed literals. Exponents and the numbers in variables' names stay."""

    def new(match: re.Match) -> str:
        value = _value(match[0])
        return show_number(changes[value], True) if value in changes else match[0]

    return _LITERAL.sub(new, text) if changes else text


def _value(literal: str) -> Fraction:
    return Fraction(literal.replace(",", "")[:MAX_DIGITS])  # no action takes a longer number


def candidates(task: Task) -> Iterator[Changes]:
    """Yield random changes of the question's numbers. A task has the same changes each time."""
    numbers = question_numbers(task.question)
    if not numbers.free:
        return
    chance = random.Random(int(digest("perturb", task.benchmark, task.row, task.question)[:16], 16))
    for _ in range(MAX_TRIES):
        changes: dict[Fraction, Fraction] = {}
        for value in numbers.free:
            changes[value] = _sample_replacement(value, value in numbers.percent, chance)
        if len(set(changes.values())) == len(changes):
            yield numbers.extend(changes)


def _sample_replacement(value: Fraction, percent: bool, chance: random.Random) -> Fraction:
    """Return another number of similar size with as many decimals, near `value`, or a multiple for whole divisions."""
    if percent and value <= 100:
        return _sample_until_new(
            value, lambda: Fraction(chance.choice((5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90)))
        )
    if chance.random() < 0.5:
        return value * chance.choice((2, 3, 4, 5, 6)) if value else Fraction(chance.randint(1, 5))
    unit = Fraction(1, 10 ** (decimal_places(value.denominator) or 0))
    low, high = max(1, int(value / unit / 2)), int(value / unit * 2) + 4
    return _sample_until_new(value, lambda: chance.randint(low, high) * unit)


def _sample_until_new(value: Fraction, draw: Callable[[], Fraction]) -> Fraction:
    while (new := draw()) == value:
        pass
    return new


def _actions(annotation: Annotation | Sequence[Action]) -> list[Action]:
    if isinstance(annotation, Annotation):
        return [action for step in annotation.steps for action in step.actions]
    return list(annotation)
