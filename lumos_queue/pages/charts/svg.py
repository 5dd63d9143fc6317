"""The elements that charts share. Positions across are in per cent, so that a chart fills whatever width it has.

A chart is a column of rows; each has a label, an amount and, below them, a track on which something is drawn: so the
track has all of the width, also that of a telephone.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from lumos_queue.util.display import one_line

ROW = 34  #: pixels from one row to the next
LABEL_Y, TRACK_Y, TRACK_HEIGHT = 13, 20, 10  #: pixels within a row
AXIS = 22  #: pixels
MAX_LINE, MAX_LABEL, MIN_LABEL = 49, 34, 10  #: characters on a narrow page: of label and amount, of a label
MAX_WIDE_LINE = 96  #: the same of label and amount on a wide one


def new_chart(key: str, title: str, description: str, height: int) -> Element:
    """An empty chart. `key`: unique in the page; `description` says in words what is drawn."""
    chart = Element("svg")
    named = f"{key}-title {key}-desc"
    for name, value in (
        ("class", "chart"),
        ("width", "100%"),
        ("height", str(height)),
        ("role", "img"),
        ("aria-labelledby", named),
    ):
        chart.set(name, value)
    SubElement(chart, "title", {"id": f"{key}-title"}).text = one_line(title)
    SubElement(chart, "desc", {"id": f"{key}-desc"}).text = one_line(description)
    return chart


def add_row(chart: Element, number: int, label: str, amount: str, name: str = "") -> Element:
    """The track of a new row, with its label at the left and its amount at the right."""
    row = SubElement(chart, "svg", {"class": f"row {name}".strip(), "y": str(number * ROW), "height": str(ROW)})
    short = _shorten(label, max(MIN_LABEL, min(MAX_LABEL, MAX_LINE - len(amount))))
    wide = _shorten(label, max(MIN_LABEL, MAX_WIDE_LINE - len(amount)))
    if wide != short:  # the style sheet shows one of the two
        add_text(row, wide, {"class": "label wide", "x": "0", "y": str(LABEL_Y)})
    add_text(row, short, {"class": "label" if wide == short else "label narrow", "x": "0", "y": str(LABEL_Y)})
    add_text(row, amount, {"class": "amount", "x": "100%", "y": str(LABEL_Y), "text-anchor": "end"})
    place = {"class": "track", "y": str(TRACK_Y), "width": "100%", "height": str(TRACK_HEIGHT)}
    return SubElement(row, "svg", place)


def add_axis(chart: Element, height: int, ticks: list[tuple[float, str]]) -> None:
    """Lines across all rows, and below them what they stand for. `ticks`: (per cent of the track, text)."""
    lines = SubElement(chart, "svg", {"class": "grid", "y": "0", "width": "100%", "height": str(height)})
    for place, _ in ticks:
        SubElement(lines, "line", {"x1": percent(place), "x2": percent(place), "y1": "0", "y2": "100%"})
    texts = SubElement(chart, "svg", {"class": "axis", "y": str(height), "width": "100%", "height": str(AXIS)})
    for place, text in ticks:
        anchor = "start" if place <= 0 else "end" if place >= 100 else "middle"
        add_text(texts, text, {"x": percent(place), "y": "15", "text-anchor": anchor})


def add_text(parent: Element, text: str, attributes: dict[str, str]) -> Element:
    added = SubElement(parent, "text", attributes)
    added.text = one_line(text)
    return added


def add_tip(parent: Element, text: str) -> None:
    """What a pointer that rests on the element is told."""
    SubElement(parent, "title").text = one_line(text)


def add_bar(track: Element, start: float, width: float, name: str, tip: str) -> None:
    """A bar from `start`, both in per cent of the track. `name`: its class, which gives the colour."""
    place = {"class": name, "x": percent(start), "width": percent(width), "y": "0", "height": "100%"}
    add_tip(SubElement(track, "rect", place), tip)


def percent(place: float) -> str:
    return f"{place:.2f}".rstrip("0").rstrip(".") + "%"


def _shorten(text: str, most: int) -> str:
    """At most so many characters; what was cut is in the tip and in the table."""
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def write(chart: Element) -> str:
    """The chart as text, for a page: all texts in it are escaped."""
    return tostring(chart, encoding="unicode")
