"""A forest plot: values with their intervals below each other, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from lumos_queue.pages.charts.scale import is_finite, round_up
from lumos_queue.pages.charts.svg import ROW, add_axis, add_bar, add_row, add_tip, new_chart, percent, write

TOPS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)  #: where the axis of a share may end


@dataclass(frozen=True, slots=True)
class Estimate:
    """A line of a forest plot. Values are in the unit of the axis."""

    label: str
    value: float | None  #: None: there is none yet
    low: float | None = None  #: of the 95 % interval; None: none is known
    high: float | None = None
    kind: str = "ours"  #: ours, paper, baseline; a difference
    bounds: tuple[float, float] | None = None  #: of a value that is not known yet: drawn instead of it
    amount: str = ""  #: value and interval in words


def draw_forest(
    key: str, title: str, rows: Sequence[Estimate], least: float = 0.0, most: float = 0.0, unit: str = "%"
) -> str:
    """The plot as SVG. The axis goes from `least` to `most`; both 0: from 0 to what is needed for shares.

    `unit`: `%` for shares from 0 to 1, `points` for differences of them, else as it is.
    """
    if least == most:
        ends = [one for row in rows for one in (row.value, row.high, *(row.bounds or ())) if is_finite(one)]
        needed = max((one for one in ends if one is not None), default=1.0)
        least, most = 0.0, next((top for top in TOPS if needed <= top), round_up(needed))
    height = len(rows) * ROW
    told = "; ".join(f"{row.label}: {row.amount}" for row in rows[:20])
    more = f"; and {len(rows) - 20} more" if len(rows) > 20 else ""
    chart = new_chart(key, title, f"{told}{more}", height + 24)
    ticks = [least + (most - least) * step / 4 for step in range(5)]
    add_axis(chart, height, [(25.0 * step, _tell(tick, unit)) for step, tick in enumerate(ticks)])
    for number, row in enumerate(rows):
        track = add_row(chart, number, row.label, row.amount, row.kind)
        _add_estimate(track, row, least, most)
        if least < 0 < most:
            zero = percent(100 * -least / (most - least))
            SubElement(track, "line", {"class": "zero", "x1": zero, "x2": zero, "y1": "-10", "y2": "20"})
    return write(chart)


def _add_estimate(track: Element, row: Estimate, least: float, most: float) -> None:
    def place(value: float) -> float:
        return min(max(100 * (value - least) / (most - least), 0.0), 100.0)

    tip = f"{row.label}: {row.amount}"
    if is_finite(row.low, row.high):
        assert row.low is not None and row.high is not None
        line = {"class": "whisker", "x1": percent(place(row.low)), "x2": percent(place(row.high)), "y1": "5", "y2": "5"}
        add_tip(SubElement(track, "line", line), tip)
    if row.bounds is not None and is_finite(*row.bounds):
        start, end = map(place, row.bounds)
        add_bar(track, start, max(end - start, 0.5), "bounds", tip)
    elif is_finite(row.value):
        assert row.value is not None
        mark = {"class": f"mark {row.kind}", "cx": percent(place(row.value)), "cy": "5", "r": "5"}
        add_tip(SubElement(track, "circle", mark), tip)


def _tell(tick: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * tick:.0f} %" if round(100 * tick, 9).is_integer() else f"{100 * tick:.1f} %"
    if unit == "points":
        return f"{100 * tick:+.0f}" if tick else "0"
    return f"{tick:g}"
