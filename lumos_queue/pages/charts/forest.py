"""Draw forest plots: each row has a value and its interval, and all rows have the same axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from lumos_queue.pages.charts.scale import is_finite, round_up
from lumos_queue.pages.charts.svg import ROW, add_axis, add_bar, add_row, add_tip, new_chart, percent, write
from lumos_queue.util.wording import format_tick

TOPS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  #: possible ends of the axis of shares


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row of a forest plot. Values are in the unit of the axis."""

    label: str
    value: float | None  #: None: not known
    low: float | None = None  #: of the 95 % interval; None: not known
    high: float | None = None
    kind: str = "ours"  #: 'ours' (also for a difference), 'paper' or 'baseline'
    bounds: tuple[float, float] | None = None  #: range of an incomplete value, which is drawn instead of the value
    amount: str = ""  #: value and interval as text


def draw_forest(
    key: str, title: str, rows: Sequence[Estimate], axis_start: float = 0.0, axis_end: float = 0.0, unit: str = "%"
) -> str:
    """Return the plot as SVG. The axis goes from `axis_start` to `axis_end`; if both are 0, from 0 to a round end.

    `unit`: `%` for shares from 0 to 1, `points` for differences of shares. Values in other units are not converted.
    """
    if axis_start == axis_end:
        ends = [end for row in rows for end in (row.value, row.high, *(row.bounds or ())) if is_finite(end)]
        largest = max((end for end in ends if end is not None), default=1.0)
        axis_start, axis_end = 0.0, next((top for top in TOPS if largest <= top), round_up(largest))
    height = len(rows) * ROW
    summary = "; ".join(f"{row.label}: {row.amount}" for row in rows[:20])
    suffix = f"; and {len(rows) - 20} more" if len(rows) > 20 else ""
    chart = new_chart(key, title, f"{summary}{suffix}", height + 24)
    ticks = [axis_start + (axis_end - axis_start) * step / 4 for step in range(5)]
    add_axis(chart, height, [(25.0 * step, _format_tick(tick, unit)) for step, tick in enumerate(ticks)])
    for number, row in enumerate(rows):
        track = add_row(chart, number, row.label, row.amount, row.kind)
        _add_estimate(track, row, axis_start, axis_end)
        if axis_start < 0 < axis_end:
            zero = percent(100 * -axis_start / (axis_end - axis_start))
            SubElement(track, "line", {"class": "zero", "x1": zero, "x2": zero, "y1": "-10", "y2": "20"})
    return write(chart)


def _add_estimate(track: Element, row: Estimate, axis_start: float, axis_end: float) -> None:
    def scale(value: float) -> float:
        return min(max(100 * (value - axis_start) / (axis_end - axis_start), 0.0), 100.0)

    tip = f"{row.label}: {row.amount}"
    if is_finite(row.low, row.high):
        assert row.low is not None and row.high is not None
        line = {"class": "whisker", "x1": percent(scale(row.low)), "x2": percent(scale(row.high)), "y1": "5", "y2": "5"}
        add_tip(SubElement(track, "line", line), tip)
    if row.bounds is not None and is_finite(*row.bounds):
        start, end = map(scale, row.bounds)
        add_bar(track, start, max(end - start, 0.5), "bounds", tip)
    elif is_finite(row.value):
        assert row.value is not None
        mark = {"class": f"mark {row.kind}", "cx": percent(scale(row.value)), "cy": "5", "r": "5"}
        add_tip(SubElement(track, "circle", mark), tip)


def _format_tick(tick: float, unit: str) -> str:
    if unit == "%":
        return format_tick(tick)
    if unit == "points":
        return f"{100 * tick:+.0f}" if tick else "0"
    return f"{tick:g}"
