"""Ratios of adjacent pairs: their median, and the interval that order statistics give for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class Estimate:
    median: float
    low: float
    high: float
    confidence: float  #: that the interval covers the median of all such pairs; below CONFIDENCE when pairs are few
    count: int


def estimate(values: Sequence[float]) -> Estimate:
    """The narrowest interval between two values of equal rank from both ends that covers with at least CONFIDENCE.

    With five values that is all of them (94 %). No distribution is assumed. Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values")
    ordered_values, count = sorted(values), len(values)
    cut = 0
    while _coverage(count, cut + 1) >= CONFIDENCE:
        cut += 1
    return Estimate(
        median(ordered_values), ordered_values[cut], ordered_values[count - 1 - cut], _coverage(count, cut), count
    )


def _coverage(count: int, cut: int) -> float:
    """How probably the median lies between the values after leaving out `cut` at each end."""
    if 2 * cut >= count:
        return 0.0
    return 1 - 2 * sum(comb(count, below) for below in range(cut + 1)) / 2**count
