"""Estimate the time that the remaining steps of a fit take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

TIMED_STEPS = 3  #: steps whose durations are needed


def estimate_seconds(step_seconds: Sequence[float], steps_left: int) -> float | None:
    """Return the seconds of the remaining steps by the median step; None before three steps are measured."""
    return statistics.median(step_seconds) * steps_left if len(step_seconds) >= TIMED_STEPS else None
