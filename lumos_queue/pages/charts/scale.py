"""Round ends of axes."""

from __future__ import annotations

import math


def round_up(most: float) -> float:
    """The smallest of 1, 2, 3, 4, 5, 6, 8 times a power of ten that is at least `most`; 1 for what is not positive."""
    if not math.isfinite(most) or most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    steps = (1, 2, 3, 4, 5, 6, 8, 10)
    return next(step * power for step in steps if step * power >= most * (1 - 1e-12))


def is_finite(*values: float | None) -> bool:
    """Whether all of these are numbers that can be drawn."""
    return all(value is not None and math.isfinite(value) for value in values)
