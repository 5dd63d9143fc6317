"""Draw bar charts with horizontal bars, plain or stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.pages.charts.scale import is_finite, round_up
from lumos_queue.pages.charts.svg import ROW, add_axis, add_bar, add_row, new_chart, write


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a stacked bar."""

    name: str
    value: float  #: not negative
    amount: str  #: the value as text
    colour: str  #: a class of the style sheet


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of one or more parts."""

    label: str
    parts: Sequence[BarPart]
    amount: str  #: the total as text

    @property
    def total(self) -> float:
        return sum(part.value for part in self.parts if is_finite(part.value))


def draw_bars(key: str, title: str, bars: Sequence[Bar], axis_end: float = 0.0, ticks: Sequence[str] = ()) -> str:
    """Return the bars as SVG. Their scale ends at `axis_end`, or at the longest bar if `axis_end` is 0.

    `ticks` are texts below the axis, at equal distances from 0 to its end. Without ticks no axis is drawn.
    """
    end = axis_end or max((bar.total for bar in bars), default=0.0) or 1.0
    height = len(bars) * ROW
    summary = "; ".join(f"{bar.label}: {_describe(bar)}" for bar in bars[:12])
    suffix = f"; and {len(bars) - 12} more" if len(bars) > 12 else ""
    chart = new_chart(key, title, f"{summary}{suffix}", height + (24 if ticks else 0))
    if ticks:
        positions = [100.0 * step / (len(ticks) - 1) for step in range(len(ticks))]
        add_axis(chart, height, list(zip(positions, ticks, strict=True)))
    for number, bar in enumerate(bars):
        track, start = add_row(chart, number, bar.label, bar.amount), 0.0
        for part in bar.parts:
            if not is_finite(part.value) or part.value <= 0:
                continue
            width = 100 * part.value / end
            add_bar(track, start, width, f"bar {part.colour}", f"{bar.label}: {part.name} {part.amount}")
            start += width
    return write(chart)


def end_of(bars: Sequence[Bar]) -> float:
    """Return a round number at which the axis of these bars can end."""
    return round_up(max((bar.total for bar in bars), default=0.0))


def _describe(bar: Bar) -> str:
    if len(bar.parts) == 1:
        return bar.amount
    return ", ".join(f"{part.name} {part.amount}" for part in bar.parts if part.value)
