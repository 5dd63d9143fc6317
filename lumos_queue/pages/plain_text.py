"""The beginning of a page as plain text, for `print`: which jobs, and the first section, which has the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text as Line

from lumos_queue.pages.blocks import Block, Document, Figure, Table, Text
from lumos_queue.util.display import harmless

WIDTH = 120  #: characters; longer cells are wrapped


def render_plain_text(page: Document) -> str:
    """Its title, its lead, and the texts and tables of its first section; no trajectory, nothing that is folded."""
    written = StringIO()
    console = Console(file=written, width=WIDTH, color_system=None, highlight=False, emoji=False)
    console.print(Line(harmless(page.title)))
    for part in (page.lead, *(section.blocks for section in page.sections[:1])):
        for shown in _blocks(part):
            console.print()
            console.print(shown)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"


def _blocks(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    for block in blocks:
        match block:
            case Text():
                yield Line(harmless(block.text))
            case Table(folded=False):
                yield _grid(block)
            case Figure(table=Table(folded=False)):
                yield _grid(block.table)


def _grid(table: Table) -> Grid:
    # Its title and note are cells too: rich would read markup in plain strings.
    shown = Grid(box=box.SIMPLE_HEAD, title=Line(harmless(table.title)), title_justify="left", show_edge=False)
    for place, head in enumerate(table.heads):
        shown.add_column(Line(harmless(head)), overflow="fold", justify="left" if place in table.texts else "right")
    for row in table.rows:
        shown.add_row(*(Line(harmless(cell)) for cell in row))
    if table.note:
        shown.caption, shown.caption_justify = Line(harmless(table.note)), "left"
    return shown
