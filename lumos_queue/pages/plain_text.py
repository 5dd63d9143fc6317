"""Render the beginning of a page as plain text for `print`: the jobs, and the first section, which has the scores."""

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
    """Return the title, the lead, and the first section's texts and tables, without folded blocks and trajectories."""
    output = StringIO()
    console = Console(file=output, width=WIDTH, color_system=None, highlight=False, emoji=False)
    console.print(Line(harmless(page.title)))
    for part in (page.lead, *(section.blocks for section in page.sections[:1])):
        for renderable in _blocks(part):
            console.print()
            console.print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


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
    # Title and note are Line objects, like the cells, because rich would interpret markup in plain strings.
    grid = Grid(box=box.SIMPLE_HEAD, title=Line(harmless(table.title)), title_justify="left", show_edge=False)
    for column, head in enumerate(table.heads):
        grid.add_column(Line(harmless(head)), overflow="fold", justify="left" if column in table.texts else "right")
    for row in table.rows:
        grid.add_row(*(Line(harmless(cell)) for cell in row))
    if table.note:
        grid.caption, grid.caption_justify = Line(harmless(table.note)), "left"
    return grid
