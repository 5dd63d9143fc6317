"""A graph of quantities: which follow from which, and the gold program for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from lumos_queue.benchmarks.wordmath.program import GoldValue, Operand, ProblemBuilder, Sum

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a story: what it is, in words, and its value."""

    name: str
    value: Number
    constant: bool = False  #: known to everybody: 100 for percents, 60 minutes


@dataclass(frozen=True, slots=True)
class Law:
    """`whole` is the sum, or the product, of the `parts` (indexes of quantities): each follows from all the others."""

    operator: str  #: '+' or '*'
    whole: int
    parts: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        return (self.whole, *self.parts)


Derivation = dict[int, tuple[int, Law | None]]  #: operations to reach a quantity, and the law for the last of them


class QuantityGraph:
    """Quantities by index, and the laws that hold between them."""

    def __init__(self) -> None:
        self.quantities: list[Quantity] = []
        self.laws: list[Law] = []

    def add(self, name: str, value: Number, constant: bool = False) -> int:
        """The index of a new quantity."""
        self.quantities.append(Quantity(name, value, constant))
        return len(self.quantities) - 1

    def value(self, index: int) -> Number:
        return self.quantities[index].value

    def sum(self, whole: int, *parts: int) -> None:
        self.laws.append(Law("+", whole, parts))

    def product(self, whole: int, first: int, second: int) -> None:
        self.laws.append(Law("*", whole, (first, second)))

    def derive(self, known: set[int]) -> Derivation:
        """Everything that follows from the known quantities, each by the fewest operations."""
        found: Derivation = {index: (0, None) for index in known}
        found |= {index: (0, None) for index, quantity in enumerate(self.quantities) if quantity.constant}
        changed = True
        while changed:
            changed = False
            for law in self.laws:
                members = law.members
                missing = [member for member in members if member not in found]
                if len(missing) > 1:
                    continue
                for member in missing or members:
                    cost = len(law.parts) - 1 + sum(found[other][0] for other in members if other != member)
                    if member not in found or cost < found[member][0]:
                        found[member] = (cost, law)
                        changed = True
        return found

    def premises(self, target: int, found: Derivation) -> set[int]:
        """The known quantities that the derivation of the target uses."""
        law = found[target][1]
        if law is None:
            return {target}
        return set().union(*(self.premises(member, found) for member in law.members if member != target))

    def write(self, target: int, found: Derivation, program: ProblemBuilder) -> Operand:
        """Add the steps that compute the target to the program; one operation a step."""
        return self._write(target, found, program, {})

    def _write(self, target: int, found: Derivation, program: ProblemBuilder, done: dict[int, GoldValue]) -> Operand:
        if target in done:
            return done[target]
        law, name = found[target][1], self.quantities[target].name
        if law is None:
            return self.quantities[target].value
        operands = [self._write(member, found, program, done) for member in law.members if member != target]
        sign = law.operator if target == law.whole else {"+": "-", "*": "/"}[law.operator]
        result, *rest = operands
        for place, operand in enumerate(rest):
            said = name if place == len(rest) - 1 else f"a part of {name}"
            result = program.calculate(said, Sum(sign, (result, operand)))
        done[target] = result  # type: ignore[assignment]  (a law has at least two parts)
        return result
