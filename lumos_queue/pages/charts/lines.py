"""A curve over time or steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import SubElement

from lumos_queue.pages.charts.scale import is_finite, round_up
from lumos_queue.pages.charts.svg import add_text, add_tip, new_chart, percent, write

HEIGHT, TOP, BOTTOM = 180, 22, 26  #: pixels: all, above the curve, below it


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve, and how the table and the tip tell it."""

    x: float
    y: float
    told_x: str
    told_y: str


def draw_curve(key: str, title: str, points: Sequence[Point], unit: str, colour: str = "c0") -> str:
    """The curve as SVG, from 0 up; points that are no numbers are left out. `unit`: of y, in words."""
    drawn = [one for one in points if is_finite(one.x, one.y)]
    most = round_up(max((one.y for one in drawn), default=0.0))
    first, last = (drawn[0], drawn[-1]) if drawn else (None, None)
    described = f"{unit}; " + "; ".join(f"{one.told_x}: {one.told_y}" for one in drawn[:: max(1, len(drawn) // 12)])
    chart = new_chart(key, title, described, HEIGHT)
    plot = {"y": str(TOP), "width": "100%", "height": str(HEIGHT - TOP - BOTTOM)}
    grid = SubElement(chart, "svg", plot | {"class": "grid"})
    for place in (0, 50, 100):
        SubElement(grid, "line", {"x1": "0", "x2": "100%", "y1": percent(place), "y2": percent(place)})
    add_text(chart, f"{most:g} {unit}", {"class": "axis", "x": "0", "y": str(TOP - 8)})
    if first is None or last is None:
        return write(chart)
    width = (last.x - first.x) or 1.0

    def place_of(one: Point) -> tuple[float, float]:
        return 100 * (one.x - first.x) / width, 100 * (1 - one.y / most)

    curve = SubElement(chart, "svg", plot | {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"})
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in map(place_of, drawn))
    SubElement(curve, "polyline", {"class": f"curve {colour}", "points": line, "vector-effect": "non-scaling-stroke"})
    dots = SubElement(chart, "svg", plot | {"class": "dots"})
    for one in drawn:
        x, y = place_of(one)
        dot = SubElement(dots, "circle", {"class": colour, "cx": percent(x), "cy": percent(y), "r": "3"})
        add_tip(dot, f"{one.told_x}: {one.told_y}")
    for told, anchor, x in ((first.told_x, "start", "0"), (last.told_x, "end", "100%")):
        add_text(chart, told, {"class": "axis", "x": x, "y": str(HEIGHT - 8), "text-anchor": anchor})
    return write(chart)
