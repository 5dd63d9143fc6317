"""Every plausible reading of calculator marks as a program: which operands are earlier results.

`conversion.linking` decides for one reading. Where the numbers change, the readings differ: an operand equal to an
earlier result may be that result, another result of the same value, the number of that value in the question, or the
2 of a half. One does not calculate what one does not need: a reading is implausible when another leaves fewer results
without use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from lumos_queue.benchmarks.numerals import numbers_in
from lumos_queue.conversion.expressions import Expression, Number, Result, evaluate, leaves, parse_infix, show
from lumos_queue.conversion.expressions import replace_numbers as with_operands
from lumos_queue.notation import variables_in
from lumos_queue.records import Action

MOST = 64  #: readings of one solution; where there are more, nothing is determined

#: Half and twice are written as a 2 that the question does not state.
CONSTANTS = frozenset((Fraction(2),))
_MARK = re.compile(r"<<([^<>]*)>>")


def readings(question: str, solution: str) -> tuple[tuple[Action, ...], ...]:
    """The programs; empty when a mark cannot be read, or there are too many programs."""
    stated, values = frozenset(numbers_in(question, words=True)), []
    lines: list[list[str]] = []
    count = 1
    for mark in _MARK.findall(solution):
        expression = parse_infix(mark.rpartition("=")[0].replace("//", "/"))
        if expression is None:
            return ()
        forms = _forms(expression, stated, values)
        count *= len(forms)
        if count > MOST:
            return ()
        lines.append([show(form) for form in forms])
        try:
            values.append(evaluate(expression))
        except ZeroDivisionError:
            return ()
    programs = [tuple(_program(formulas)) for formulas in product(*lines)] if lines else []
    fewest = min(map(_unused, programs), default=0)
    return tuple(program for program in programs if _unused(program) == fewest)


def _forms(expression: Expression, stated: frozenset[Fraction], values: list[Fraction]) -> list[Expression]:
    """The expression with each operand read in each of its ways."""
    ways = [list(_ways(leaf.value, stated, values)) for leaf in leaves(expression) if isinstance(leaf, Number)]
    forms: list[Expression] = []
    for chosen in product(*ways):
        following = iter(chosen)
        forms.append(with_operands(expression, lambda _, following=following: next(following)))
        if len(forms) > MOST:
            break
    return forms


def _ways(value: Fraction, stated: frozenset[Fraction], values: list[Fraction]) -> Iterator[Expression]:
    matches = [number for number, result in enumerate(values, start=1) if result == value]
    yield from map(Result, matches)
    if not matches or value in stated or value in CONSTANTS:
        yield Number(value)


def _program(formulas: tuple[str, ...]) -> Iterator[Action]:
    for number, formula in enumerate(formulas, start=1):
        yield Action((f"R{number}",), "Calculator", formula)


def _unused(program: tuple[Action, ...]) -> int:
    """How many results, the last left aside, no action uses."""
    used = {variable for action in program for variable in variables_in(action.arguments)}
    return sum(action.variables[0] not in used for action in program[:-1])
