"""Draw curves over time or steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

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


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line across a chart."""

    x: float
    name: str  #: a class of the style sheet, which has the colour
    text: str  #: for the tooltip and the description


def draw_curve(
    key: str,
    title: str,
    points: Sequence[Point],
    unit: str,
    colour: str = "c0",
    second: Sequence[Point] = (),
    marks: Sequence[Mark] = (),
    best: Point | None = None,
) -> str:
    """Return the curve as SVG. The y axis begins at 0. Points that are not finite are left out. `unit`: that of y.

    `second`: the points of a second curve of the same unit, in the colour `c1`. `best`: a point of it that is marked.
    Marks outside the range of all points are left out.
    """
    curves = [(name, _finite(curve_points)) for name, curve_points in ((colour, points), ("c1", second))]
    all_points = [point for _, curve_points in curves for point in curve_points]
    axis_end = round_up(max((point.y for point in all_points), default=0.0))
    first = min(all_points, key=lambda point: point.x, default=None)
    last = max(all_points, key=lambda point: point.x, default=None)  # of equal ones, that of the first curve
    visible_marks = [mark for mark in marks if first and last and first.x <= mark.x <= last.x]
    chart = new_chart(key, title, _describe(unit, curves[0][1], visible_marks, best), HEIGHT)
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

    lines = SubElement(chart, "svg", plot | {"class": "marks"}) if visible_marks else chart
    for mark in visible_marks:
        x = percent(100 * (mark.x - first.x) / width)
        line = SubElement(lines, "line", {"class": mark.name, "x1": x, "x2": x, "y1": "0", "y2": "100%"})
        add_tip(line, mark.text)
    for name, curve_points in curves:
        if curve_points:
            _add_curve(chart, plot, curve_points, name, position_of)
    if best is not None and is_finite(best.x, best.y) and first.x <= best.x <= last.x and best.y <= axis_end:
        _add_best(chart, plot, best, *position_of(best))
    for label, anchor, x in ((first.told_x, "start", "0"), (last.told_x, "end", "100%")):
        add_text(chart, label, {"class": "axis", "x": x, "y": str(HEIGHT - 8), "text-anchor": anchor})
    return write(chart)


def _finite(points: Sequence[Point]) -> list[Point]:
    return [point for point in points if is_finite(point.x, point.y)]


def _describe(unit: str, points: Sequence[Point], marks: Sequence[Mark], best: Point | None) -> str:
    """Return the chart as text for screen readers: about twelve points of the first curve, the marks, the best."""
    parts = [f"{point.told_x}: {point.told_y}" for point in points[:: max(1, len(points) // 12)]]
    parts += [mark.text for mark in marks]
    parts += [f"{best.told_x}: {best.told_y}"] if best else []
    return f"{unit}; " + "; ".join(parts)


def _add_curve(
    chart: Element,
    plot: dict[str, str],
    points: Sequence[Point],
    colour: str,
    position_of: Callable[[Point], tuple[float, float]],
) -> None:
    curve = SubElement(chart, "svg", plot | {"viewBox": "0 0 100 100", "preserveAspectRatio": "none"})
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in map(position_of, points))
    SubElement(curve, "polyline", {"class": f"curve {colour}", "points": line, "vector-effect": "non-scaling-stroke"})
    dots = SubElement(chart, "svg", plot | {"class": "dots"})
    for point in points:
        x, y = position_of(point)
        dot = SubElement(dots, "circle", {"class": colour, "cx": percent(x), "cy": percent(y), "r": "3"})
        add_tip(dot, f"{point.told_x}: {point.told_y}")


def _add_best(chart: Element, plot: dict[str, str], best: Point, x: float, y: float) -> None:
    """Add a circle around the best point, with its value above, or below where the point is at the top."""
    layer = SubElement(chart, "svg", plot | {"class": "dots"})
    circle = SubElement(layer, "circle", {"class": "best", "cx": percent(x), "cy": percent(y), "r": "6"})
    add_tip(circle, f"{best.told_x}: {best.told_y}")
    label = SubElement(layer, "svg", {"class": "row", "x": percent(x), "y": percent(y)})
    anchor = "start" if x < 15 else "end" if x > 85 else "middle"
    attributes = {"class": "label", "y": "20" if y < 20 else "-10", "text-anchor": anchor}
    add_text(label, best.told_y, attributes)
