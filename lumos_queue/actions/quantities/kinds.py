"""The values that are read from texts: quantities and dates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number (25 for `25%`) with its unit: words, `%` or the sign of a currency; '' without a unit."""

    number: Fraction
    unit: str = ""


@dataclass(frozen=True, slots=True)
class When:
    """A date, whose unknown parts are None. Years before Christ are negative: 44 BC is -44."""

    year: int
    month: int | None = None
    day: int | None = None
