"""Compare two agents on the same tasks, each with a right or wrong answer: the difference and its significance.

The functions need only the counts of a 2x2 table. For several samples of a task, and for scores between 0 and 1, see
clusters.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.scoring.statistics import Z_95
from lumos_queue.util.model_loading import import_libraries

Z_80 = 0.8416212335729143  #: the 80 % point of the normal distribution


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Counts of tasks by whether agents A and B were right. Raises ValueError for a negative count."""

    both: int
    fixed: int  #: only B was right
    broken: int  #: only A was right
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.fixed, self.broken, self.neither) < 0:
            raise ValueError(f"{self} has a negative count")

    @property
    def n(self) -> int:
        return self.both + self.fixed + self.broken + self.neither

    @property
    def difference(self) -> float:
        """The share of tasks that B gets right minus the share that A gets right; 0 without pairs."""
        return (self.fixed - self.broken) / self.n if self.n else 0.0


def mcnemar_p(fixed: int, broken: int) -> float:
    """Return the exact two-sided p-value of McNemar's test, whether fixed and broken tasks are equally likely.

    It is the binomial test of `fixed` among all discordant pairs, with the probability 1/2 (Q. McNemar, Psychometrika
    12 (1947) 153-157; exact as in A. Agresti, Categorical Data Analysis, 3rd ed. 2013, 11.1.1). SciPy's `binomtest`
    returns the same, but importing scipy.stats takes three times as long. Return 1 without discordant pairs.
    """
    with import_libraries("scipy.special.bdtr"):
        from scipy.special import bdtr

    if min(fixed, broken) < 0:
        raise ValueError(f"{fixed} fixed and {broken} broken are not counts")
    if fixed == broken:
        return 1.0
    return min(1.0, 2.0 * float(bdtr(min(fixed, broken), fixed + broken, 0.5)))


def tango_interval(fixed: int, broken: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Return the score interval of the difference (fixed - broken) / n of paired proportions, 95 % by default.

    The interval has all differences that the score test does not reject (T. Tango, Equivalence test and confidence
    interval for the difference in proportions for the paired-sample design, Stat. Med. 17 (1998) 891-908); at 0, that
    test is McNemar's. Unlike Wald's interval, it has a width even if no pair is discordant. For its coverage see
    docs/comparing.md. Return (-1, 1) without pairs. Raises ValueError unless the counts are of n pairs.
    """
    if min(fixed, broken) < 0 or fixed + broken > n:
        raise ValueError(f"{fixed} fixed and {broken} broken of {n} are not counts of pairs")
    if not n:
        return -1.0, 1.0
    difference = (fixed - broken) / n
    low = _bisect(lambda delta: _score(fixed, broken, n, delta) - z, -1.0, difference)
    high = _bisect(lambda delta: _score(fixed, broken, n, delta) + z, difference, 1.0)
    return low, high


def _score(fixed: int, broken: int, n: int, delta: float) -> float:
    """Return Tango's statistic for a difference of `delta`; it falls as `delta` grows.

    The variance is that of the most likely shares whose difference is `delta`.
    """
    a, c = 2.0 * n, -broken * delta * (1.0 - delta)
    b = -fixed - broken + (2.0 * n - fixed + broken) * delta
    share = (math.sqrt(max(0.0, b * b - 4.0 * a * c)) - b) / (2.0 * a)  # of pairs that only A gets right
    variance = n * (2.0 * share + delta * (1.0 - delta))
    distance = fixed - broken - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def _bisect(falls, low: float, high: float) -> float:
    """Return the zero of a falling function between two bounds; a bound if the function has no zero between them."""
    if falls(low) <= 0:
        return low
    if falls(high) >= 0:
        return high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return (low + high) / 2.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p-values of several tests, in their order (S. Holm, Scand. J. Statist. 6 (1979) 65-70).

    If all tests with an adjusted p-value below 0.05 are called significant, the chance of any error is at most 5 %.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def tasks_for_power(fixed: float, broken: float, z: float = Z_95, z_power: float = Z_80) -> int | None:
    """Return the number of tasks with which McNemar's test detects this difference in 80 of 100 cases.

    `fixed` and `broken` are shares of the tasks, from 0 to 1; psi is their sum, delta their difference. The number is
    n = (z sqrt(psi) + z_power sqrt(psi - delta^2))^2 / delta^2 (R. J. Connor, Sample size for testing differences in
    proportions for the paired-sample design, Biometrics 43 (1987) 207-211, eq. 3, for a two-sided 5 % test). Return
    None without a difference.
    """
    delta, discordant = fixed - broken, fixed + broken
    if not delta:
        return None
    needed = (z * math.sqrt(discordant) + z_power * math.sqrt(max(0.0, discordant - delta * delta))) ** 2 / delta**2
    return math.ceil(needed)
