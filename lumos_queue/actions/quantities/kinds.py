"""The values of texts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as it is written, with the words of its unit, `%` or the sign of its currency ('' when bare)."""

    number: Fraction
    unit: str = ""


@dataclass(frozen=True, slots=True)
class When:
    """A date as exactly as it is known. Years before Christ are negative: 44 BC is -44."""

    year: int
    month: int | None = None
    day: int | None = None
