"""Render blocks for a terminal of any width, or as plain text.

Colours and bold text are rich's: it leaves them out if the output is not a terminal, and if NO_COLOR is set. All texts
of a page are untrusted: they are `Line` objects without control characters, because rich reads markup in strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text as Line

from lumos_queue.pages.blocks import Block, Document, Figure, Section, Table, Text
from lumos_queue.util.display import harmless

WIDTH = 120  #: of plain text, in characters
GAP = 3  #: characters between two columns
MIN_LABEL, MIN_TEXT = 18, 20  #: characters to which a row's label, and another text, is wrapped before columns fold


def print_blocks(console: Console, blocks: Sequence[Block], folded: bool = True) -> None:
    """Print texts, tables, and the tables of figures; `folded`: also those that pages fold. Trajectories are left out.

    No text is lost in a narrow terminal: texts are wrapped, and columns without room become lines below their row.
    """
    is_first = True
    for block in blocks:
        table = block.table if isinstance(block, Figure) else block
        if isinstance(table, Text):
            console.print(Line(harmless(table.text), style="yellow" if table.warns else ""))
        elif isinstance(table, Table) and (folded or not table.folded):
            if not is_first:
                console.print()
            for part in _split(table, console.width):
                console.print(_grid(part, console.width))
        else:
            continue
        is_first = False


def print_sections(console: Console, sections: Sequence[Section]) -> None:
    """Print sections with their titles. Sections without blocks are left out."""
    for section in sections:
        if section.blocks:
            console.print()
            console.print(Line(harmless(section.title), style="bold underline"))
            print_blocks(console, section.blocks)


def render_plain_text(page: Document) -> str:
    """Return the title, the lead, and the first section of a page as text, without folded blocks and trajectories."""
    parts = (page.lead, *(section.blocks for section in page.sections[:1]))
    return "\n".join([harmless(page.title), "", *(render_blocks(blocks) for blocks in parts)])


def render_blocks(blocks: Sequence[Block]) -> str:
    """Return blocks as text, without folded blocks and trajectories."""
    output = StringIO()
    console = Console(file=output, width=WIDTH, color_system=None, highlight=False, emoji=False)
    print_blocks(console, blocks, folded=False)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


def _split(table: Table, width: int) -> Iterator[Table]:
    """Yield the table, or tables with a part of its columns if these are alike and the width is too small for all."""
    widths = _natural_widths(table)
    if not table.parallel or sum(widths) + GAP * (len(widths) - 1) <= width:
        yield table
        return
    room, start = max(1, width - min(widths[0], MIN_LABEL + GAP)), 1
    while start < len(widths):
        end, used = start + 1, widths[start] + GAP
        while end < len(widths) and used + widths[end] + GAP <= room:
            used += widths[end] + GAP
            end += 1
        rows = [[row[0], *row[start:end]] for row in table.rows if any(row[start:end])]
        note = table.note if end == len(widths) else ""
        yield Table(table.title if start == 1 else "", [table.heads[0], *table.heads[start:end]], rows, note)
        start = end


def _natural_widths(table: Table) -> list[int]:
    """Return the width of each column without wrapping, in cells of the terminal."""
    return [
        max(cell_len(line) for cell in (head, *cells) for line in cell.split("\n"))
        for head, cells in ((head, [row[column] for row in table.rows]) for column, head in enumerate(table.heads))
    ]


def _choose_columns(table: Table, width: int) -> tuple[list[int], list[int]]:
    """Return the columns of the grid, and those that fold into lines below the label of their row."""
    natural = _natural_widths(table)
    least = [
        min(size, MIN_LABEL if column == 0 else MIN_TEXT) if column in table.texts else size
        for column, size in enumerate(natural)
    ]
    ranks = table.ranks or range(len(natural))
    columns = list(range(len(natural)))
    while len(columns) > 1 and sum(least[column] + GAP for column in columns) - GAP > width:
        columns.remove(max(columns[1:], key=lambda column: (ranks[column], column)))
    return columns, [column for column in range(len(natural)) if column not in columns]


def _grid(table: Table, width: int) -> RenderableType:
    columns, folded = _choose_columns(table, width)
    # The title and the note must not be wrapped to the width of the grid, so they are no parts of it.
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        is_text = column in table.texts
        grid.add_column(
            Line(harmless(table.heads[column])),
            overflow="fold",
            justify="left" if is_text else "right",
            no_wrap=not is_text,
        )
    for row in table.rows:
        label = Line(harmless(row[0]))
        further = " · ".join(f"{table.heads[column]} {row[column]}".strip() for column in folded if row[column])
        if further:
            label.append(f"\n  {harmless(further)}", style="dim")
        grid.add_row(label, *(Line(harmless(row[column])) for column in columns[1:]))
    return _stack(table, grid)


def _stack(table: Table, grid: Grid) -> RenderableType:
    parts: list[RenderableType] = [Line(harmless(table.title), style="bold")] if table.title else []
    parts.append(grid)
    if table.note:
        parts.append(Line(harmless(table.note), style="dim"))
    return Group(*parts)
