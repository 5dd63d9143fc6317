"""Choose round ends for axes."""

from __future__ import annotations

import math


def round_up(maximum: float) -> float:
    """Return the least of 1, 2, 3, 4, 5, 6, 8 times a power of ten that is >= `maximum`; 1 if it is not positive."""
    if not math.isfinite(maximum) or maximum <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(maximum))
    steps = (1, 2, 3, 4, 5, 6, 8, 10)
    return next(step * power for step in steps if step * power >= maximum * (1 - 1e-12))


def is_finite(*values: float | None) -> bool:
    """Return whether all values are finite numbers, which can be drawn."""
    return all(value is not None and math.isfinite(value) for value in values)
