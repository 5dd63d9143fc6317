"""Figures in words, the same in charts and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def tell_share(value: float) -> str:
    """`37.5 %`; a value that is no number as it is."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else str(value)


def tell_interval(low: float, high: float) -> str:
    """`[24.2, 53.0]`, in per cent."""
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def tell_metric(found: Mapping[str, Any] | None) -> str:
    """A metric's value, or of an unfinished job the range that it can still reach; '' for none."""
    if not found:
        return ""
    if "bounds" in found:
        low, high = found["bounds"]
        return f"incomplete: {100 * low:.1f} to {100 * high:.1f} %"
    return tell_share(found["value"])


def tell_whole_metric(found: Mapping[str, Any] | None) -> str:
    """A metric's value with its interval."""
    return f"{tell_metric(found)} {tell_interval(*found['ci95'])}" if found else ""


def tell_count(count: int, of: int) -> str:
    """`15 (37.5 %)`."""
    return f"{count:,} ({tell_share(count / of)})" if of else f"{count:,}"


def tell_seconds(seconds: float) -> str:
    """`0 s`, `0.672 s`, `7.58 s`, `43.2 s`, `3 min 20 s`, `2 h 05 min`."""
    if not math.isfinite(seconds):
        return str(seconds)
    if seconds < 10:
        return "0 s" if not seconds else f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
    return f"{seconds // 3600:,.0f} h {seconds % 3600 // 60:02.0f} min"


def tell_rate(rate: float) -> str:
    """Three figures: `10.6`, `0.0128`, `1,230`."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def tell_price(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}" if usd >= 0.01 else f"${usd:.6f}"


def tell_time(at: float | None) -> str:
    """A time of the database's clock: `2026-11-25 07:48:12 UTC`; '' for none."""
    if at is None:
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} seconds since 1970"


def plain(name: str) -> str:
    """A stored name as words: `exact match`."""
    return name.replace("_", " ")


def plural(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def tell_points(difference: float) -> str:
    """A difference of shares in points: `+11.3`."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}"


def tell_probability(p: float) -> str:
    """A p-value with two digits that say something, never as 0."""
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}" if p < 0.1 else f"= {p:.2f}"


def describe_reasoning(step: Mapping[str, Any]) -> str:
    """How much a model thought at a step of a trajectory: `1,234 characters, 310 tokens`; '' where it did not."""
    characters, tokens = len(step.get("reasoning", "")), step.get("reasoning_tokens", 0)
    sizes = [plural(count, noun) for count, noun in ((characters, "character"), (tokens, "token")) if count]
    return ", ".join(sizes)
