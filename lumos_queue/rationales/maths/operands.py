"""Lists the operands of a calculation with their role in the formula and the words beside them in its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.rationales.maths.calculations import Calculation, find_formula
from lumos_queue.rationales.maths.expressions import Expression, Number, Operation
from lumos_queue.rationales.maths.mentions import MONEY, content_stems, find_mentions, read_unit

_RESULT = re.compile(r"\s*+(?:\$\s*+)?-?(?:[0-9][0-9,]*+(?:\.[0-9]++)?+|\.[0-9]++)")


@dataclass(frozen=True, slots=True)
class Operand:
    """A number of a formula."""

    value: Fraction
    sign: str  #: the sign before it; '' at the beginning of the formula or of a group
    is_term: bool  #: whether it is only added or subtracted
    unit: frozenset[str] = frozenset()  #: beside it in the line's formula (mentions.read_unit)
    words: frozenset[str] = frozenset()  #: of clauses of the line that mention it elsewhere

    @property
    def is_divisor(self) -> bool:
        return self.sign == "/"


def list_operands(calculation: Calculation) -> list[Operand]:
    """Return the operands of a calculation from left to right."""
    roles = list(_roles(calculation.expression))
    formula, rest = find_formula(calculation.before)
    mentions = find_mentions(formula)
    aligned = [mention.value for mention in mentions] == [abs(value) for value, _, _ in roles]
    elsewhere = find_mentions(rest)
    operands = []
    for index, (value, sign, is_term) in enumerate(roles):
        units = [mention.unit for mention in elsewhere if mention.value == abs(value)]
        words = [mention.words for mention in elsewhere if mention.value == abs(value)]
        is_unique = sum(other == value for other, _, _ in roles) == 1
        unit = mentions[index].unit if aligned else frozenset()
        if not unit and is_unique and units:
            unit = units[-1]
        operands.append(Operand(value, sign, is_term, unit, frozenset().union(*words) if is_unique else frozenset()))
    return operands


def _roles(expression: Expression, sign: str = "", is_term: bool = True) -> Iterator[tuple[Fraction, str, bool]]:
    """Yield value, sign before it, and whether it is only added or subtracted, of each number from left to right."""
    if isinstance(expression, Number):
        yield expression.value, sign, is_term
    elif isinstance(expression, Operation):
        is_term = is_term and expression.sign in "+-"
        yield from _roles(expression.left, sign, is_term)
        yield from _roles(expression.right, expression.sign, is_term)


def read_result_unit(calculation: Calculation) -> frozenset[str]:
    """Return the unit of a calculation's result, from the words beside the result; empty if there are none."""
    if calculation.before.rstrip().endswith(MONEY):
        return frozenset((MONEY,))
    match = _RESULT.match(calculation.after)
    if match and MONEY in match[0]:
        return frozenset((MONEY,))
    unit = read_unit(calculation.after, 0, match.end() if match else 0)
    if unit:
        return unit
    _, rest = find_formula(calculation.before)
    units = [mention.unit for mention in find_mentions(rest) if mention.value == calculation.value and mention.unit]
    return units[-1] if units else frozenset()


def result_words(calculation: Calculation) -> frozenset[str]:
    """Return the stems of the words that describe a calculation in its line."""
    _, rest = find_formula(calculation.before)
    return content_stems(f"{rest} {calculation.after}")
