"""Exact probabilities of a count in which some sides are sure and the others are fair coins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb


@dataclass(frozen=True, slots=True)
class Count:
    """The probabilities that the first side has more than the second, and that both are equal."""

    more: Fraction
    equal: Fraction


def count_coins(first: int, second: int, coins: int) -> Count:
    """Return the probabilities for `first` and `second` sure points of the sides, and coins that give either a point.

    >>> count_coins(1, 1, 2)
    Count(more=Fraction(1, 4), equal=Fraction(1, 2))
    """
    lead = first - second
    more = sum(comb(coins, heads) for heads in range(coins + 1) if lead + 2 * heads > coins)
    equal = sum(comb(coins, heads) for heads in range(coins + 1) if lead + 2 * heads == coins)
    return Count(Fraction(more, 2**coins), Fraction(equal, 2**coins))
