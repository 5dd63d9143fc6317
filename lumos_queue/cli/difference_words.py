"""Format differences between jobs for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def format_points(value: float) -> str:
    """Return a difference of shares in percentage points: `+11.3`."""
    return f"{round(100 * value, 1) + 0.0:+.1f}"


def format_p(p: float) -> str:
    """Return a p-value with two significant digits, never as 0."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def format_difference(comparison: Mapping[str, Any]) -> str:
    """Return the difference of a comparison and its 95 % interval as text, in percentage points."""
    low, high = comparison["ci95"]
    return f"{format_points(comparison['difference'])} [{format_points(low)}, {format_points(high)}]"
