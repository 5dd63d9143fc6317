"""How sure a measured share or mean is."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z_95 = 1.959963984540054  #: the 97.5 % point of the normal distribution


def wilson(correct: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a share, 95 % by default; (0, 1) when nothing was measured.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212.
    Without continuity correction. Raises ValueError unless 0 <= correct <= n.
    """
    if not 0 <= correct <= n:
        raise ValueError(f"{correct} of {n} is no share")
    if n == 0:
        return 0.0, 1.0
    share = correct / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if correct == 0 else (centre - half) / scale
    high = 1.0 if correct == n else (centre + half) / scale
    return low, high


#: 97.5 % points of Student's t with 1, 2, … 30 degrees of freedom (any statistics table).
# fmt: off
_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
         2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
# fmt: on


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean of a few repeated measurements and the half width of its 95 % t interval.

    The half width is infinite for a single value. Past 31 values it takes the point for 30 degrees of freedom, which is
    at most 4.2 % wide. Raises ValueError when there are none.
    """
    n = len(values)
    if n == 0:
        raise ValueError("no values")
    mean = math.fsum(values) / n
    if n == 1:
        return mean, math.inf
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, _T_95[min(n - 1, len(_T_95)) - 1] * math.sqrt(variance / n)
