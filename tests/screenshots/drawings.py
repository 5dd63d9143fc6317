"""Pictures that are drawn, not photographed: the architecture, and a forest plot of two jobs."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from db.engine.connection import Database
from db.queries.jobs import get_job
from lumos_queue.pages.blocks import Figure
from lumos_queue.pages.html import make_environment
from lumos_queue.pages.sections.comparison import comparison
from lumos_queue.reports.comparison import compare_jobs

WIDTH, HEIGHT = 880, 420
#: Boxes of the architecture: text lines, left, top, width, height, class.
BOXES = (
    (("lumos evaluate, convert, train", "Python API, explorer"), 20, 20, 250, 64, "person"),
    (("lumos report, compare, board", "pages, explorer, Flower"), 610, 20, 250, 64, "person"),
    (("SQL database", "jobs · items · steps · episodes · scores · sessions"), 20, 136, 840, 64, "database"),
    (("worker process", "slice → job → episode → formulation"), 20, 256, 400, 64, "worker"),
    (("dispatcher", "finds pending items"), 440, 256, 190, 64, "worker"),
    (("Celery: Redis, RabbitMQ", "“there is work”"), 650, 256, 210, 64, "worker"),
    (("model servers", "TGI, OpenAI-compatible, local"), 20, 346, 250, 60, "outside"),
    (("tools", "calculator, search, code, SQL, experts"), 290, 346, 340, 60, "outside"),
)
#: Arrows: from (x, y) to (x, y), with a text.
ARROWS = (
    ((145, 84), (145, 136), "submit"),
    ((735, 136), (735, 84), "read"),
    ((140, 256), (140, 200), "commit steps"),
    ((290, 200), (290, 256), "claim items"),
    ((535, 200), (535, 256), "look"),
    ((630, 300), (650, 300), ""),
    ((145, 320), (145, 346), "Ask"),
    ((400, 320), (400, 346), "Do"),
)
STYLE = (
    "text { font: 15px system-ui, sans-serif; fill: #1b1f24; } .small { font-size: 12.5px; fill: #3d444d; }"
    " rect { stroke: #57606a; rx: 8px; } .person { fill: #e7f0ff; } .database { fill: #fff4d6; }"
    " .worker { fill: #e3f4ec; } .outside { fill: #f3e8f7; } line { stroke: #57606a; stroke-width: 2; }"
    " .page { fill: #ffffff; stroke: none; }"
)


def draw_architecture() -> str:
    """Return the parts of a deployment and their relations as SVG."""
    svg = _new_picture(WIDTH, HEIGHT, STYLE, "How lumos-queue works")
    marker = SubElement(
        SubElement(svg, "defs"),
        "marker",
        {"id": "end", "viewBox": "0 0 10 10", "refX": "9", "refY": "5", "markerWidth": "7", "markerHeight": "7"}
        | {"orient": "auto"},
    )
    SubElement(marker, "path", {"d": "M 0 0 L 10 5 L 0 10 z", "fill": "#57606a"})
    for lines, left, top, width, height, name in BOXES:
        box = {"x": left, "y": top, "width": width, "height": height}
        SubElement(svg, "rect", {"class": name} | {key: str(value) for key, value in box.items()})
        for number, line in enumerate(lines):
            place = {"x": str(left + width // 2), "y": str(top + 26 + 22 * number), "text-anchor": "middle"}
            SubElement(svg, "text", place | ({"class": "small"} if number else {})).text = line
    for (x1, y1), (x2, y2), text in ARROWS:
        ends = {"x1": str(x1), "y1": str(y1), "x2": str(x2), "y2": str(y2), "marker-end": "url(#end)"}
        SubElement(svg, "line", ends)
        label = {"x": str(x1 + 8), "y": str((y1 + y2) // 2 + 4), "class": "small"}
        SubElement(svg, "text", label).text = text
    return tostring(svg, encoding="unicode")


def draw_comparison(database: Database, jobs: tuple[str, ...]) -> str:
    """Return the forest plot of `lumos compare` for these jobs as an SVG of its own."""
    with database.engine.connect() as connection:
        compared = compare_jobs(connection, [get_job(connection, job) for job in jobs])
    (plot,) = (block for block in comparison([compared], max_tasks=0) if isinstance(block, Figure))
    style = make_environment("lumos_queue.pages").get_template("style.css").render()
    return plot.svg.replace(">", f' xmlns="http://www.w3.org/2000/svg"><style>{style}</style>', 1)


def _new_picture(width: int, height: int, style: str, title: str) -> Element:
    svg = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", "role": "img"})
    SubElement(svg, "title").text = title
    SubElement(svg, "style").text = style
    SubElement(svg, "rect", {"class": "page", "width": str(width), "height": str(height)})
    return svg
