"""The words and formats of figures, for commands, pages, the explorer and messages to people.

A count is written with the format specification `,`, as in `1,234`; a count with its noun is `plural`. JSON, stored
texts and texts that models read do not use this module. Figures that are not finite are written as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Protocol

MISSING = "–"  #: in the cell of a value that does not exist


class Measured(Protocol):
    """A share with its 95 % interval; `bounds` is the range that it can still reach, or None if it is final."""

    @property
    def value(self) -> float: ...
    @property
    def ci95(self) -> tuple[float, float]: ...
    @property
    def bounds(self) -> tuple[float, float] | None: ...


def format_share(value: float) -> str:
    """Format a share as `37.5 %`. A value that is not finite is written as it is."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else str(value)


def format_exact_share(value: float) -> str:
    """Format a share that a person states, such as a threshold, without rounding: `90.0 %`, `99.95 %`."""
    percent = f"{(100 * Decimal(str(value))).normalize():f}"
    return f"{percent} %" if "." in percent else f"{percent}.0 %"


def is_share(value: float) -> bool:
    """Return whether a mean can be a share. Stored sums, such as those of rewards, may have another mean."""
    return 0 <= value <= 1


def format_mean(value: float) -> str:
    """Format a mean score: a share as `37.5 %`, another mean as `mean 520`, `mean 1,234` or `mean -0.25`."""
    if is_share(value) or not math.isfinite(value):
        return format_share(value)
    return f"mean {value:,.0f}" if abs(value) >= 1000 else f"mean {value:.3g}"


def format_interval(low: float, high: float) -> str:
    """Format an interval of shares as `[24.2, 53.0]`, in per cent."""
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def format_measurement(value: float, interval: Sequence[float]) -> str:
    """Format a share together with its interval as `37.5 % [24.2, 53.0]`."""
    low, high = interval
    return f"{format_share(value)} {format_interval(low, high)}"


def format_range(low: float, high: float) -> str:
    """Format the range of shares that an unfinished job can still reach as `24.0 to 55.0 %`."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def format_cell(value: float) -> str:
    """Format a share as `37.5`, for a column whose head has the unit. Only `lumos jobs` has such a column.

    In 80 cells of a terminal, the sign in every line would take the room of a further column.
    """
    return f"{100 * value:.1f}"


def format_tick(share: float) -> str:
    """Format a share as `50 %`, or `2.5 %` where the ticks are close. Only the axis of a chart has this short form."""
    percent = round(100 * share, 9)
    return f"{percent:.0f} %" if percent.is_integer() else f"{percent:.1f} %"


def format_score(value: float, bounds: tuple[float, float] | None) -> str:
    """Format a score, or the range that it can still reach if the job is not finished."""
    return format_mean(value) if bounds is None else f"incomplete: {format_range(*bounds)}"


def format_metric(metric: Measured | None) -> str:
    """Format a metric's value, or its possible range if the job is not finished; '' for None."""
    return format_score(metric.value, metric.bounds) if metric else ""


def format_whole_metric(metric: Measured | None) -> str:
    """Format a metric's value together with its interval; '' for None."""
    return f"{format_metric(metric)} {format_interval(*metric.ci95)}" if metric else ""


def format_count(count: int, of: int) -> str:
    """Format a count and its share as `15 (37.5 %)`."""
    return f"{count:,} ({format_share(count / of)})" if of else f"{count:,}"


def format_short_count(count: int) -> str:
    """Format a count in at most five characters, rounded down, for the list of jobs: `9,999`, `12k`, `1.0M`."""
    if count < 10_000:
        return f"{count:,}"
    return f"{count // 1_000}k" if count < 1_000_000 else f"{count // 100_000 / 10:.1f}M"


def format_seconds(seconds: float) -> str:
    """Format a duration as `0 s`, `0.672 s`, `7.58 s`, `43.2 s`, `3 min 20 s` or `2 h 05 min`."""
    if not math.isfinite(seconds):
        return str(seconds)
    if seconds < 9.995:
        return "0 s" if not seconds else f"{seconds:.3f} s" if seconds < 0.9995 else f"{seconds:.2f} s"
    if seconds < 119.95:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min {remainder:02} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes:02} min"


def format_rough_seconds(seconds: float) -> str:
    """Format an age or an estimate in one unit, rounded: `40 s`, `12 min`, `1.6 h`, `12 d`, `3 y`.

    A negative one is `0 s`.

    Commands and the explorer write the remaining time of a job, ages, and the length of a silence or an outage like
    this: the seconds of `3 min 20 s left` would be guessed. A measured duration is for `format_seconds`.
    """
    seconds = max(0.0, seconds)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 99 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    if (days := seconds / 86400) < 1000:
        return f"{days:.0f} d"
    return f"{days / 365.25:.0f} y" if days < 365_250 else "more than 1,000 y"


def format_elapsed(seconds: float) -> str:
    """Format how long something has lasted until now, in whole seconds: `12 s`, `3 min 12 s`, `2 h 05 min`."""
    return f"{max(0.0, seconds):.0f} s" if seconds < 119.5 else format_seconds(round(seconds))


def format_limit(seconds: float) -> str:
    """Format a limit that a setting or the code states in seconds, exactly: `600 s`, `0.5 s`, `1,234,567 s`."""
    return f"{seconds:,}".removesuffix(".0") + " s"


def format_bytes(size: int) -> str:
    """Format a size as `812 bytes`, `3.4 kB`, `23.1 MB` or `1.2 GB`."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= limit:
            return f"{size / limit:,.1f} {unit}"
    return plural(size, "byte")


def format_loss(loss: object) -> str:
    """Format a loss with two digits. A loss that is infinite or not a number is stored without a number."""
    return f"{loss:.2f}" if isinstance(loss, int | float) else "not a number"


def format_fit_figure(value: float) -> str:
    """Format a loss, a learning rate, a gradient norm or a reward: `2.314`, `0.019`, `2e-5`, `1,234`."""
    size = abs(value)
    if not math.isfinite(value) or not value:
        return "0" if not value else str(value)
    if size >= 0.01:
        return f"{value:,.3f}" if size < 999.9995 else f"{value:,.0f}"
    digits, exponent = f"{value:.2e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def format_step(step: int, steps: int) -> str:
    """Format an optimizer step of `steps` as `step 137 of 1,600 (8.6 %)`, or `step 137` if their number is 0."""
    return f"step {step:,} of {steps:,} ({format_share(step / steps)})" if steps else f"step {step:,}"


def format_rate(rate: float) -> str:
    """Format a rate with three digits: `10.6`, `0.0128`, `1,230`."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def format_average(mean: float) -> str:
    """Format a mean of counts, such as the turns of a conversation, as `2.35`."""
    return f"{mean:,.2f}"


def format_price(usd: float) -> str:
    """Format an amount in USD as `$12.30`, `$0.0456` or `$0.000789`."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}" if usd >= 0.01 else f"${usd:.6f}"


def format_time(timestamp: float | None) -> str:
    """Format a time of the database's clock as `2026-11-25 07:48:12 UTC`; '' for None.

    The result for a stored value that is no number, which SQLite permits in any column, is `damaged`.
    """
    if timestamp is None:
        return ""
    if not isinstance(timestamp, int | float):
        return "damaged"
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp:.0f} seconds since 1970"


def format_clock(timestamp: float) -> str:
    """Format a time of the last or next hours as `07:48:12 UTC`, for a job's reason to wait and for a worker's log."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%H:%M:%S UTC")


def format_stored_time(text: str) -> str:
    """Format a time that a file has in ISO 8601, such as a build's manifest, as `format_time`; leave other texts."""
    try:
        return format_time(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return text


def plain(name: str) -> str:
    """Return a stored name with spaces instead of underscores: `exact match`."""
    return name.replace("_", " ")


def plural(count: int, singular: str, several: str = "") -> str:
    return f"{count:,} {singular if count == 1 else several or singular + 's'}"


def format_points(difference: float) -> str:
    """Format a difference of shares in points as `+11.3`."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}"


def format_distance(difference: float) -> str:
    """Format a distance between shares, which has no sign, as `11.3 points`."""
    return f"{abs(100 * difference):.1f} points"


def format_difference(difference: float, interval: tuple[float, float]) -> str:
    """Format a difference of shares and its interval in points as `+11.3 [+4.5, +18.1]`."""
    low, high = map(format_points, interval)
    return f"{format_points(difference)} [{low}, {high}]"


def format_kappa(kappa: float, interval: Sequence[float]) -> str:
    """Format an agreement beyond chance, which is no share, and its interval as `0.812 [0.700, 0.901]`."""
    low, high = interval
    return f"{kappa:.3f} [{low:.3f}, {high:.3f}]"


def format_probability(p: float) -> str:
    """Format a p-value with two significant digits, and a value below 0.0001 as `< 0.0001`."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def state_probability(p: float) -> str:
    """Format a p-value for a sentence: `p = 0.034`, `p < 0.0001`. The spaces do not break."""
    return f"p = {format_probability(p)}".replace("= <", "<").replace(" ", "\N{NO-BREAK SPACE}")


def format_reasoning(text: str, tokens: int) -> str:
    """Format the size of a model's reasoning as `1,234 characters, 310 tokens`; '' if there is none."""
    characters = len(text)
    sizes = [plural(count, noun) for count, noun in ((characters, "character"), (tokens, "token")) if count]
    return ", ".join(sizes)
