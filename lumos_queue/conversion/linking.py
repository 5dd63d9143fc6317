"""Which operands of a solution are earlier results.

A solution writes `36+12` where it means `36 + R1`. The rule, in this order:

1. A number that no earlier action gave is a literal.
2. A number that some earlier action gave, and that does not stand in the question, is that action's result.
3. A number that is both is the result as long as no later action has used that result: one does not calculate what one
   does not need. Once it was used, the number is taken from the question: a literal.
4. Where several earlier actions gave it, the latest unused one is meant; when all were used, the latest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from lumos_queue.conversion.expressions import Expression, Number, Result


@dataclass(slots=True)
class Linker:
    """Links the operands of one solution, action by action, and counts what it had to decide."""

    stated: frozenset[Fraction]  #: the numbers that stand in the question
    results: list[Fraction] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  #: numbers of the results that were linked to
    linked: int = 0  #: operands that became results
    ambiguous: int = 0  #: operands that equal an earlier result and also stand in the question
    several: int = 0  #: operands that equal more than one earlier result

    @classmethod
    def of(cls, stated: Iterable[Fraction]) -> Linker:
        return cls(frozenset(stated))

    def operand(self, value: Fraction) -> Expression:
        matches = [number for number, result in enumerate(self.results, start=1) if result == value]
        if not matches:
            return Number(value)
        unused = [number for number in matches if number not in self.used]
        self.several += len(matches) > 1
        self.ambiguous += value in self.stated
        if value in self.stated and not unused:
            return Number(value)
        chosen = (unused or matches)[-1]
        self.used.add(chosen)
        self.linked += 1
        return Result(chosen)
