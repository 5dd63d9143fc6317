"""How sure a measured share is."""

from __future__ import annotations

import math

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
