"""The elements that charts share. Horizontal positions are in per cent, so that a chart fills the width of its page.

A chart is a column of rows. A row has a label, an amount and, below both, a track for bars or marks. So a track has the
whole width of the chart, also on a narrow screen.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from lumos_queue.util.display import one_line

ROW = 34  #: pixels from one row to the next
LABEL_Y, TRACK_Y, TRACK_HEIGHT = 13, 20, 10  #: pixels within a row
AXIS = 22  #: pixels
MAX_LINE, MAX_LABEL, MIN_LABEL = 49, 34, 10  #: characters on a narrow page: of label with amount, of a label
MAX_WIDE_LINE = 96  #: characters of label with amount on a wide page


def new_chart(key: str, title: str, description: str, height: int) -> Element:
    """Return an empty chart. `key` is unique in the page, `description` is for screen readers, `height` in pixels."""
    chart = Element("svg")
    label_ids = f"{key}-title {key}-desc"
    for name, value in (
        ("class", "chart"),
        ("width", "100%"),
        ("height", str(height)),
        ("role", "img"),
        ("aria-labelledby", label_ids),
    ):
        chart.set(name, value)
    SubElement(chart, "title", {"id": f"{key}-title"}).text = one_line(title)
    SubElement(chart, "desc", {"id": f"{key}-desc"}).text = one_line(description)
    return chart


def add_row(chart: Element, number: int, label: str, amount: str, name: str = "") -> Element:
    """Add row `number`, with the label at the left and the amount at the right. Return its track."""
    row = SubElement(chart, "svg", {"class": f"row {name}".strip(), "y": str(number * ROW), "height": str(ROW)})
    short = _shorten(label, max(MIN_LABEL, min(MAX_LABEL, MAX_LINE - len(amount))))
    wide = _shorten(label, max(MIN_LABEL, MAX_WIDE_LINE - len(amount)))
    if wide != short:  # the style sheet displays one of the two labels
        add_text(row, wide, {"class": "label wide", "x": "0", "y": str(LABEL_Y)})
    add_text(row, short, {"class": "label" if wide == short else "label narrow", "x": "0", "y": str(LABEL_Y)})
    add_text(row, amount, {"class": "amount", "x": "100%", "y": str(LABEL_Y), "text-anchor": "end"})
    attributes = {"class": "track", "y": str(TRACK_Y), "width": "100%", "height": str(TRACK_HEIGHT)}
    return SubElement(row, "svg", attributes)


def add_axis(chart: Element, height: int, ticks: list[tuple[float, str]]) -> None:
    """Add vertical lines across all rows, with their texts below. `ticks`: (per cent of the track, text)."""
    lines = SubElement(chart, "svg", {"class": "grid", "y": "0", "width": "100%", "height": str(height)})
    for position, _ in ticks:
        SubElement(lines, "line", {"x1": percent(position), "x2": percent(position), "y1": "0", "y2": "100%"})
    texts = SubElement(chart, "svg", {"class": "axis", "y": str(height), "width": "100%", "height": str(AXIS)})
    for position, text in ticks:
        anchor = "start" if position <= 0 else "end" if position >= 100 else "middle"
        add_text(texts, text, {"x": percent(position), "y": "15", "text-anchor": anchor})


def add_text(parent: Element, text: str, attributes: dict[str, str]) -> Element:
    element = SubElement(parent, "text", attributes)
    element.text = one_line(text)
    return element


def add_tip(parent: Element, text: str) -> None:
    """Add a tooltip to an element."""
    SubElement(parent, "title").text = one_line(text)


def add_bar(track: Element, start: float, width: float, name: str, tip: str) -> None:
    """Add a bar. `start` and `width` are in per cent of the track; `name` is the bar's class, which has the colour."""
    attributes = {"class": name, "x": percent(start), "width": percent(width), "y": "0", "height": "100%"}
    add_tip(SubElement(track, "rect", attributes), tip)


def percent(position: float) -> str:
    return f"{position:.2f}".rstrip("0").rstrip(".") + "%"


def _shorten(text: str, limit: int) -> str:
    """Truncate a text to `limit` characters, because the tooltip and the table have the whole text."""
    line = one_line(text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def write(chart: Element) -> str:
    """Return the chart as SVG text for a page; all texts in it are escaped."""
    return tostring(chart, encoding="unicode")
