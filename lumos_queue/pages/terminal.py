"""Render blocks for a terminal of any width, or as plain text.

Colours and bold text are rich's: it leaves them out if the output is not a terminal. All texts of a page are untrusted:
they are `Line` objects without control characters, because rich reads markup in strings.
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
MIN_VALUE = 24  #: characters to which a cell is wrapped before columns that are alike are divided into several tables

_COPIED = re.compile(r"(?:^|(?<=\s))['\"`(]?(?:lumos [a-z]|/\w)")  #: a command, or a path from the root

#: an interval, or a number with its unit: a space in it does not break
_WHOLE = re.compile(r"\[[^\[\] ]{1,20} [^\[\] ]{1,20}\]|\d %")
_NO_BREAK, _PRIVATE, _FIXED = "\N{NO-BREAK SPACE}", "\ue000", "\ue001"


def print_blocks(console: Console, blocks: Sequence[Block], folded: bool = True) -> None:
    """Print texts, tables, and the tables of figures; `folded`: also those that pages fold. Trajectories are left out.

    No text is lost in a narrow terminal: texts are wrapped, and columns without room become lines below their row.
    """
    is_first = True
    for block in blocks:
        table = block.table if isinstance(block, Figure) else block
        if isinstance(table, Text):
            _print_text(console, table.text, "yellow" if table.warns else "")
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
    """Return the title and the lead of a page as text, without folded blocks and trajectories."""
    return f"{harmless(page.title)}\n\n{render_blocks(page.lead)}"


def render_blocks(blocks: Sequence[Block]) -> str:
    """Return blocks as text, without folded blocks and trajectories."""
    output = StringIO()
    # In a notebook, rich writes to the notebook instead of the file, unless it must not.
    console = Console(file=output, width=WIDTH, color_system=None, highlight=False, emoji=False, force_jupyter=False)
    print_blocks(console, blocks, folded=False)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


def _split(table: Table, width: int) -> Iterator[Table]:
    """Yield the table, or tables with a part of its columns if these are alike and the width is too small for all."""
    widths = _least_widths(table, _natural_widths(table))
    if not table.parallel or sum(widths) + GAP * (len(widths) - 1) <= width:
        yield table
        return
    room, start = max(1, width - widths[0]), 1
    while start < len(widths):
        end, used = start + 1, GAP + widths[start]
        while end < len(widths) and used + GAP + widths[end] <= room:
            used += GAP + widths[end]
            end += 1
        rows = [[row[0], *row[start:end]] for row in table.rows if any(row[start:end])]
        note = table.note if end == len(widths) else ""
        heads = [table.heads[0], *table.heads[start:end]]
        yield Table(table.title if start == 1 else "", heads, rows, note, parallel=True)
        start = end


def _natural_widths(table: Table) -> list[int]:
    """Return the width of each column without wrapping, in cells of the terminal."""
    return [
        max(cell_len(line) for cell in (head, *cells) for line in harmless(cell).expandtabs().split("\n"))
        for head, cells in ((head, [row[column] for row in table.rows]) for column, head in enumerate(table.heads))
    ]


def _least_widths(table: Table, natural: Sequence[int]) -> list[int]:
    """Return the width of each column below which it folds: long texts need more room than short ones."""
    if table.parallel:
        return [min(size, MIN_VALUE if column else MIN_LABEL) for column, size in enumerate(natural)]
    return [
        size if column not in table.texts else min(size, MIN_LABEL if not column else max(MIN_TEXT, size // 3))
        for column, size in enumerate(natural)
    ]


def _word_widths(table: Table) -> list[int]:
    """Return the width of the longest word of each column, at most MIN_TEXT."""
    cells = [(head, *(row[column] for row in table.rows)) for column, head in enumerate(table.heads)]
    return [
        min(MIN_TEXT, max((cell_len(word) for cell in column for word in _join_words(cell).split()), default=0))
        for column in cells
    ]


def _choose_columns(table: Table, width: int) -> dict[int, int]:
    """Return the width of each column that has room. The values of other columns become lines below their row.

    A column of rank 0 has no such lines: if there is no room, it is made narrower, to its longest word if possible.
    """
    natural = _natural_widths(table)
    least = _least_widths(table, natural)
    ranks = [0] * len(natural) if table.parallel else table.ranks or range(len(natural))
    columns = list(range(len(natural)))
    foldable = sorted((column for column in columns[1:] if ranks[column]), key=lambda column: (ranks[column], column))
    while foldable and sum(least[column] + GAP for column in columns) - GAP > width:
        columns.remove(foldable.pop())
    widths, room = {column: natural[column] for column in columns}, width - GAP * (len(columns) - 1)
    _shrink(widths, room, {column: least[column] for column in columns})
    words = _word_widths(table)
    _shrink(widths, room, {column: words[column] for column in columns if column in table.texts})
    _shrink(widths, room, {column: words[column] for column in columns})
    _shrink(widths, room, dict.fromkeys(columns, 1))
    return widths


def _shrink(widths: dict[int, int], room: int, floors: Mapping[int, int]) -> None:
    """Make the widest columns of `floors` smaller, none below its floor, until all columns have room."""
    while (excess := sum(widths.values()) - room) > 0:
        shrinkable = [column for column, floor in floors.items() if widths[column] > floor]
        if not shrinkable:
            return
        widest = max(shrinkable, key=lambda column: widths[column])
        second = max((widths[column] for column in shrinkable if column != widest), default=1)
        widths[widest] -= min(excess, max(1, widths[widest] - max(second, floors[widest])))


def _print_table(console: Console, table: Table) -> None:
    """Print a table: title, heads, a rule, and the rows, whose texts are wrapped; then the note."""
    widths = _choose_columns(table, console.width)
    last, room = len(table.heads) - 1, console.width - sum(widths.values()) - GAP * len(widths)

    def tail_of(row: Sequence[str]) -> str:
        """Return the text of the last column if that has no room in all rows, but in this row; else ''."""
        text = harmless(row[last]).expandtabs() if last in table.texts and last not in widths else ""
        return text if cell_len(text) <= room and "\n" not in text else ""

    head_tail = tail_of(table.heads) if any(map(tail_of, table.rows)) else ""
    if table.title:
        _print_text(console, table.title, "bold")
    if any(table.heads):
        _print_row(console, table, widths, table.heads, head_tail, "bold")
        rule_width = console.width - room - GAP + (GAP + cell_len(head_tail) if head_tail else 0)
        console.print(Line("─" * rule_width), soft_wrap=True)
    for row in table.rows:
        tail = tail_of(row) if head_tail else ""
        _print_row(console, table, widths, row, tail, "")
        below = [column for column in range(len(row)) if column not in widths and not (tail and column == last)]
        values = ((table.heads[column], row[column]) for column in below)
        for text in filter(None, (f"{head}: {value}" if head and value else value for head, value in values)):
            _print_lines(console, text, "", INDENT)
    if table.note:
        _print_text(console, table.note, "dim")


def _print_text(console: Console, text: str, style: str) -> None:
    """Print a text. From a command or a path on it stays in a line, so that they can be copied."""
    copied = _COPIED.search(text)
    start = copied.start() if copied else len(text)
    lines = _wrap(console, text[:start], console.width)
    if rest := harmless(text[start:]):
        line = f"{lines[-1]} {rest}".strip()
        lines[-1:] = [line] if cell_len(line) <= console.width or not lines[-1] else [lines[-1], rest]
    for line in lines:
        console.print(Line(line, style=style), soft_wrap=True)


def _print_lines(console: Console, text: str, style: str, indent: int = 0) -> None:
    for line in _wrap(console, text, console.width - indent):
        console.print(Line(" " * indent + line, style=style), soft_wrap=True)


def _print_row(
    console: Console, table: Table, widths: Mapping[int, int], row: Sequence[str], tail: str, style: str
) -> None:
    """Print the cells of a row beside each other, and `tail` at the end of the first line."""
    cells = {column: _wrap(console, row[column], width) for column, width in widths.items()}
    for number in range(max(map(len, cells.values()))):
        parts = []
        for column, width in widths.items():
            text = cells[column][number] if number < len(cells[column]) else ""
            space = " " * (width - cell_len(text))
            parts.append(text + space if column in table.texts else space + text)
        if tail and not number:
            parts.append(tail)
        console.print(Line((" " * GAP).join(parts).rstrip(), style=style), soft_wrap=True)


def _wrap(console: Console, text: str, width: int) -> list[str]:
    """Return lines of at most `width` cells. A word is broken only if it is longer than a line."""
    lines = Line(_join_words(text)).wrap(console, max(1, width), overflow="fold")
    return [line.plain.replace(_FIXED, " ").replace(_PRIVATE, _NO_BREAK).rstrip() for line in lines] or [""]


def _join_words(text: str) -> str:
    """Return harmless text with private characters for spaces that do not break.

    rich takes a no-break space for the end of a word. No harmless text has private characters.
    """
    return _WHOLE.sub(lambda match: match[0].replace(" ", _FIXED), harmless(text).replace(_NO_BREAK, _PRIVATE))
