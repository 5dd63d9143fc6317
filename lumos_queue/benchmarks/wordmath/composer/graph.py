"""A graph of quantities and laws. It derives quantities from others and writes gold programs for them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from lumos_queue.benchmarks.wordmath.program import GoldValue, Operand, ProblemBuilder, Sum

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a story, with its name as text."""

    name: str
    value: Number
    constant: bool = False  #: known to everybody: 100 for percents, 60 minutes


@dataclass(frozen=True, slots=True)
class Law:
    """States that `whole` is the sum or product of `parts` (indices of quantities). Each follows from the others."""

    operator: str  #: '+' or '*'
    whole: int
    parts: tuple[int, ...]

    @property
    def members(self) -> tuple[int, ...]:
        return (self.whole, *self.parts)


Derivation = dict[int, tuple[int, Law | None]]  #: quantity → number of operations, and the law of the last operation


class QuantityGraph:
    """Quantities by index, and the laws that hold between them."""

    def __init__(self) -> None:
        self.quantities: list[Quantity] = []
        self.laws: list[Law] = []

    def add(self, name: str, value: Number, constant: bool = False) -> int:
        """Add a quantity and return its index."""
        self.quantities.append(Quantity(name, value, constant))
        return len(self.quantities) - 1

    def value(self, index: int) -> Number:
        return self.quantities[index].value

    def sum(self, whole: int, *parts: int) -> None:
        self.laws.append(Law("+", whole, parts))

    def product(self, whole: int, first: int, second: int) -> None:
        self.laws.append(Law("*", whole, (first, second)))

    def derive(self, premises: set[int]) -> Derivation:
        """Return all quantities that follow from the premises, each by the fewest operations."""
        derivation: Derivation = {index: (0, None) for index in premises}
        derivation |= {index: (0, None) for index, quantity in enumerate(self.quantities) if quantity.constant}
        has_changed = True
        while has_changed:
            has_changed = False
            for law in self.laws:
                members = law.members
                unknown_members = [member for member in members if member not in derivation]
                if len(unknown_members) > 1:
                    continue
                for member in unknown_members or members:
                    cost = len(law.parts) - 1 + sum(derivation[premise][0] for premise in members if premise != member)
                    if member not in derivation or cost < derivation[member][0]:
                        derivation[member] = (cost, law)
                        has_changed = True
        return derivation

    def premises(self, target: int, derivation: Derivation) -> set[int]:
        """Return the premises that the derivation of the target uses."""
        law = derivation[target][1]
        if law is None:
            return {target}
        return set().union(*(self.premises(member, derivation) for member in law.members if member != target))

    def write(self, target: int, derivation: Derivation, program: ProblemBuilder) -> Operand:
        """Add the steps that compute the target to the program, one operation in each step."""
        return self._write(target, derivation, program, {})

    def _write(
        self, target: int, derivation: Derivation, program: ProblemBuilder, values: dict[int, GoldValue]
    ) -> Operand:
        if target in values:
            return values[target]
        law, name = derivation[target][1], self.quantities[target].name
        if law is None:
            return self.quantities[target].value
        operands = [self._write(member, derivation, program, values) for member in law.members if member != target]
        sign = law.operator if target == law.whole else {"+": "-", "*": "/"}[law.operator]
        result, *rest = operands
        for index, operand in enumerate(rest):
            quantity = name if index == len(rest) - 1 else f"a part of {name}"
            result = program.calculate(quantity, Sum(sign, (result, operand)))
        values[target] = result  # type: ignore[assignment]  (a law has at least two parts)
        return result
