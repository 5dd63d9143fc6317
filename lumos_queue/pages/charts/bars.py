"""Bars below each other: plain ones, and ones that are stacked of parts."""

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
    amount: str  #: the value in words
    colour: str  #: a class of the style sheet


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of several parts, or of one."""

    label: str
    parts: Sequence[BarPart]
    amount: str  #: of all of it, in words

    @property
    def total(self) -> float:
        return sum(part.value for part in self.parts if is_finite(part.value))


def draw_bars(key: str, title: str, bars: Sequence[Bar], most: float = 0.0, ticks: Sequence[str] = ()) -> str:
    """The bars as SVG, all on one scale, which ends at `most`; 0: at the longest bar.

    `ticks`: texts below the axis, in equal distances from 0 to its end; without them there is no axis.
    """
    end = most or max((bar.total for bar in bars), default=0.0) or 1.0
    height = len(bars) * ROW
    told = "; ".join(f"{bar.label}: {_describe(bar)}" for bar in bars[:12])
    more = f"; and {len(bars) - 12} more" if len(bars) > 12 else ""
    chart = new_chart(key, title, f"{told}{more}", height + (24 if ticks else 0))
    if ticks:
        places = [100.0 * step / (len(ticks) - 1) for step in range(len(ticks))]
        add_axis(chart, height, list(zip(places, ticks, strict=True)))
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
    """A round end for the axis of these bars."""
    return round_up(max((bar.total for bar in bars), default=0.0))


def _describe(bar: Bar) -> str:
    if len(bar.parts) == 1:
        return bar.amount
    return ", ".join(f"{part.name} {part.amount}" for part in bar.parts if part.value)
