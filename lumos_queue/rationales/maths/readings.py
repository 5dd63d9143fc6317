"""Lists every plausible reading of a solution's calculations as a program. Readings differ in the sources of operands.

`links.py` chooses one reading. With other numbers, the readings give different answers: an operand that equals an
earlier result may be that result, another result of the same value, the number of that value in the question, a
constant that words imply, or the 3 of `1/3`. Solutions do not calculate unnecessary values, so a reading is implausible
if another reading has fewer unused results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product

from lumos_queue.notation import variables_in
from lumos_queue.rationales.maths.calculations import calculations
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Number,
    StepResult,
    format_expression,
    leaves,
    replace_numbers,
)
from lumos_queue.rationales.maths.links import possible_literals
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action

MAX_READINGS = 64  #: of one solution; with more readings, none is returned


def readings(
    question: str, solution: str, answer: Fraction | None = None, all_prose: bool = False
) -> tuple[tuple[Action, ...], ...]:
    """Return a program for each plausible reading; () if a mark is unreadable, or for more than MAX_READINGS.

    `all_prose`: as of calculations.calculations.
    """
    stated_numbers, values = question_numbers(question).numbers, []
    formulas: list[list[str]] = []
    count = 1
    try:
        lines = calculations(solution, answer, all_prose)
    except NotConvertible:
        return ()
    for line in lines:
        constants = find_constants(f"{question} {line.text}")
        for calculation in line.calculations:
            forms = _forms(
                calculation.expression, possible_literals(calculation.expression, stated_numbers, constants), values
            )
            count *= len(forms)
            if count > MAX_READINGS:
                return ()
            formulas.append([format_expression(form) for form in forms])
            values.append(calculation.value)
    programs = [tuple(_program(choice)) for choice in product(*formulas)] if formulas else []
    fewest = min(map(_count_unused, programs), default=0)
    return tuple(program for program in programs if _count_unused(program) == fewest)


def _forms(expression: Expression, literal: Iterable[bool], values: list[Fraction]) -> list[Expression]:
    """Return the expression in every combination of its operands' readings.

    `literal`: for each operand, whether it may be a literal. `values`: the values of earlier actions.
    """
    numbers = [leaf.value for leaf in leaves(expression) if isinstance(leaf, Number)]
    ways = [list(_ways(value, may_be, values)) for value, may_be in zip(numbers, literal, strict=True)]
    forms: list[Expression] = []
    for choice in product(*ways):
        operands = iter(choice)
        forms.append(replace_numbers(expression, lambda _, operands=operands: next(operands)))
        if len(forms) > MAX_READINGS:
            break
    return forms


def _ways(value: Fraction, literal: bool, values: list[Fraction]) -> Iterator[Expression]:
    matches = [number for number, result in enumerate(values, start=1) if result == value]
    yield from map(StepResult, matches)
    if not matches or literal:
        yield Number(value)


def _program(formulas: tuple[str, ...]) -> Iterator[Action]:
    for number, formula in enumerate(formulas, start=1):
        yield Action((f"R{number}",), "Calculator", formula)


def _count_unused(program: tuple[Action, ...]) -> int:
    """Return the number of results, except the last, that no action uses."""
    used_names = {variable for action in program for variable in variables_in(action.arguments)}
    return sum(action.variables[0] not in used_names for action in program[:-1])
