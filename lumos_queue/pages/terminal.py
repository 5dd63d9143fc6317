"""Render blocks for a terminal of any width, or as plain text.

Colours and bold text are rich's: it leaves them out if the output is not a terminal, and if NO_COLOR is set. All texts
of a page are untrusted: they are `Line` objects without control characters, because rich reads markup in strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Line

from lumos_queue.pages.blocks import Block, Document, Figure, Section, Table, Text
from lumos_queue.util.display import harmless

WIDTH = 120  #: of plain text, in characters
GAP, INDENT = 2, 4  #: characters between two columns, and before a line below a row
MIN_LABEL, MIN_TEXT = 18, 20  #: characters to which a row's label, and another text, is wrapped before columns fold

_COMMAND = re.compile(r"\blumos [a-z]")


def print_blocks(console: Console, blocks: Sequence[Block], folded: bool = True) -> None:
    """Print texts, tables, and the tables of figures; `folded`: also those that pages fold. Trajectories are left out.

    No text is lost in a narrow terminal: texts are wrapped, and columns without room become lines below their row.
    """
    is_first = True
    for block in blocks:
        table = block.table if isinstance(block, Figure) else block
        if isinstance(table, Text):
            # The terminal itself wraps a line with a command, so that the command can be copied.
            is_command = _COMMAND.search(table.text) is not None
            console.print(Line(harmless(table.text), style="yellow" if table.warns else ""), soft_wrap=is_command)
        elif isinstance(table, Table) and (folded or not table.folded):
            if not is_first:
                console.print()
            for number, part in enumerate(_split(table, console.width)):
                if number:
                    console.print()
                _print_table(console, part)
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


def _least_widths(table: Table, natural: Sequence[int]) -> list[int]:
    """Return the width of each column below which it folds: long texts need more room than short ones."""
    return [
        size if column not in table.texts else min(size, MIN_LABEL if not column else max(MIN_TEXT, size // 3))
        for column, size in enumerate(natural)
    ]


def _choose_columns(table: Table, width: int) -> dict[int, int]:
    """Return the width of each column that has room. The values of other columns become lines below their row."""
    natural = _natural_widths(table)
    least = _least_widths(table, natural)
    ranks = table.ranks or range(len(natural))
    columns = list(range(len(natural)))
    while len(columns) > 1 and sum(least[column] + GAP for column in columns) - GAP > width:
        columns.remove(max(columns[1:], key=lambda column: (ranks[column], column)))
    widths = {column: natural[column] for column in columns}
    while (excess := sum(widths.values()) + GAP * (len(columns) - 1) - width) > 0:
        shrinkable = [column for column in columns if widths[column] > max(1, least[column])] or columns
        widest = max(shrinkable, key=lambda column: widths[column])
        if widths[widest] == 1:
            break
        second = max((widths[column] for column in shrinkable if column != widest), default=1)
        widths[widest] -= min(excess, max(1, widths[widest] - max(second, least[widest], 1)))
    return widths


def _print_table(console: Console, table: Table) -> None:
    """Print a table: title, heads, a rule, and the rows, whose texts are wrapped; then the note."""
    widths = _choose_columns(table, console.width)
    if table.title:
        console.print(Line(harmless(table.title), style="bold"))
    if any(table.heads):
        _print_row(console, table, widths, table.heads, "bold")
        console.print(Line("─" * (sum(widths.values()) + GAP * (len(widths) - 1))), soft_wrap=True)
    for row in table.rows:
        _print_row(console, table, widths, row, "")
        values = ((table.heads[column], row[column]) for column in range(len(row)) if column not in widths)
        for text in filter(None, (f"{head} {value}".strip() if value else "" for head, value in values)):
            for line in _wrap(console, text, console.width - INDENT):
                console.print(Line(" " * INDENT + line, style="dim"), soft_wrap=True)
    if table.note:
        console.print(Line(harmless(table.note), style="dim"))


def _print_row(console: Console, table: Table, widths: Mapping[int, int], row: Sequence[str], style: str) -> None:
    cells = {column: _wrap(console, row[column], width) for column, width in widths.items()}
    for number in range(max(map(len, cells.values()))):
        parts = []
        for column, width in widths.items():
            text = cells[column][number] if number < len(cells[column]) else ""
            space = " " * (width - cell_len(text))
            parts.append(text + space if column in table.texts else space + text)
        console.print(Line((" " * GAP).join(parts).rstrip(), style=style), soft_wrap=True)


def _wrap(console: Console, text: str, width: int) -> list[str]:
    """Return lines of at most `width` cells. A word is broken only if it is longer than a line."""
    lines = Line(harmless(text)).wrap(console, max(1, width), overflow="fold")
    return [line.plain.rstrip() for line in lines] or [""]
