"""Draw curves over time or steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import SubElement

from lumos_queue.pages.charts.scale import is_finite, round_up
from lumos_queue.pages.charts.svg import add_text, add_tip, new_chart, percent, write

HEIGHT, TOP, BOTTOM = 180, 22, 26  #: pixels: all, above the curve, below it


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve, and the texts of its coordinates in the table and the tooltip."""

    x: float
    y: float
    told_x: str
    told_y: str


def draw_curve(key: str, title: str, points: Sequence[Point], unit: str, colour: str = "c0") -> str:
    """Return the curve as SVG. The y axis begins at 0. Points that are not finite are left out. `unit`: that of y."""
    finite_points = [point for point in points if is_finite(point.x, point.y)]
    axis_end = round_up(max((point.y for point in finite_points), default=0.0))
    first, last = (finite_points[0], finite_points[-1]) if finite_points else (None, None)
    description = f"{unit}; " + "; ".join(
        f"{point.told_x}: {point.told_y}" for point in finite_points[:: max(1, len(finite_points) // 12)]
    )
    chart = new_chart(key, title, description, HEIGHT)
    plot = {"y": str(TOP), "width": "100%", "height": str(HEIGHT - TOP - BOTTOM)}
    grid = SubElement(chart, "svg", plot | {"class": "grid"})
    for level in (0, 50, 100):
        SubElement(grid, "line", {"x1": "0", "x2": "100%", "y1": percent(level), "y2": percent(level)})
    add_text(chart, f"{axis_end:g} {unit}", {"class": "axis", "x": "0", "y": str(TOP - 8)})
    if first is None or last is None:
        return write(chart)
    width = (last.x - first.x) or 1.0

    def position_of(point: Point) -> tuple[float, float]:
        return 100 * (point.x - first.x) / width, 100 * (1 - point.y / axis_end)

    curve = SubElement(chart, "svg", plot | {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"})
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in map(position_of, finite_points))
    SubElement(curve, "polyline", {"class": f"curve {colour}", "points": line, "vector-effect": "non-scaling-stroke"})
    dots = SubElement(chart, "svg", plot | {"class": "dots"})
    for point in finite_points:
        x, y = position_of(point)
        dot = SubElement(dots, "circle", {"class": colour, "cx": percent(x), "cy": percent(y), "r": "3"})
        add_tip(dot, f"{point.told_x}: {point.told_y}")
    for label, anchor, x in ((first.told_x, "start", "0"), (last.told_x, "end", "100%")):
        add_text(chart, label, {"class": "axis", "x": x, "y": str(HEIGHT - 8), "text-anchor": anchor})
    return write(chart)
