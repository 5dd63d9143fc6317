"""Decides which operands of a solution are earlier results.

A solution writes `36+12` where it means `36 + R1`. The rules, in this order:

1. A number that is no earlier action's result is a literal.
2. A number that is an earlier action's result, and that cannot be a literal, refers to that result. A number can be a
   literal if the question states it, if words imply it (the 60 of minutes), or if it is the 3 of `1/3`.
3. A number that can be a result or a literal refers to the result until an action has used that result, because
   solutions do not calculate unnecessary values. Afterwards the number is a literal.
4. If several earlier actions gave the number, it is the latest unused result; if all were used, the latest result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.expressions import Expression, Number, Operation, StepResult, replace_numbers


@dataclass(slots=True)
class Linker:
    """Links the operands of one solution to earlier results, action by action, and counts the ambiguous operands."""

    stated_numbers: frozenset[Fraction]  #: the numbers that the question states
    results: list[Fraction] = field(default_factory=list)
    used_results: set[int] = field(default_factory=set)  #: numbers of the results that were linked to
    link_count: int = 0  #: operands that became results
    ambiguous: int = 0  #: operands that equal an earlier result and could also be literals
    several: int = 0  #: operands that equal more than one earlier result

    @classmethod
    def of(cls, stated_numbers: Iterable[Fraction]) -> Linker:
        return cls(frozenset(stated_numbers))

    def link(self, expression: Expression, words: str = "") -> Expression:
        """Return the expression with references in place of numbers that are earlier results.

        `words`: the text that may imply constants.
        """
        literal = iter(possible_literals(expression, self.stated_numbers, find_constants(words)))
        return replace_numbers(expression, lambda value: self._operand(value, next(literal)))

    def _operand(self, value: Fraction, literal: bool) -> Expression:
        matches = [number for number, result in enumerate(self.results, start=1) if result == value]
        if not matches:
            return Number(value)
        unused_numbers = [number for number in matches if number not in self.used_results]
        self.several += len(matches) > 1
        self.ambiguous += literal
        if literal and not unused_numbers:
            return Number(value)
        selection = (unused_numbers or matches)[-1]
        self.used_results.add(selection)
        self.link_count += 1
        return StepResult(selection)


def possible_literals(
    expression: Expression, stated_numbers: Collection[Fraction], constants: Collection[Fraction]
) -> Iterator[bool]:
    """Yield for each number, from left to right, whether it can be a literal although it is an action's result.

    It can if the question states it, if it is a constant factor or divisor, or if it is the 3 of `12*1/3`.
    """
    for value, factor, under in _numbers(expression):
        yield under or value in stated_numbers or (factor and value in constants)


def _numbers(
    expression: Expression, factor: bool = False, under: bool = False
) -> Iterator[tuple[Fraction, bool, bool]]:
    if isinstance(expression, Number):
        yield expression.value, factor, under
    elif isinstance(expression, Operation):
        factor = expression.sign in "*/"
        left = list(_numbers(expression.left, factor))
        yield from left
        is_unit_fraction = expression.sign == "/" and bool(left) and left[-1][0] == 1
        yield from _numbers(expression.right, factor, is_unit_fraction and isinstance(expression.right, Number))
