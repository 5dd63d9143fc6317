"""Columns of text that fit a terminal of any width, with one line for each row. Widths are in cells of the terminal;
a Chinese character takes two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size

ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, its limits of width, and the function that formats its cells."""

    head: str
    natural: int  #: the width at which no cell is cut
    least: int  #: the width to which it is cut before it is left out
    rank: int  #: where there is no room for all, the column with the highest rank is left out first; 0: never
    show: Callable[[int, int], str]  #: (number of the row, width) to text that is no wider


def plain_column(head: str, cells: Sequence[str], least: int, rank: int, middle: bool = False) -> Column:
    """Return a column of texts. Texts that are too wide are cut at their end, or with `middle` in the middle."""
    natural_width = max(map(cell_len, (head, *cells)))
    return Column(
        head, natural_width, min(least, natural_width), rank, lambda row, width: truncate(cells[row], width, middle)
    )


def fit_columns(columns: Sequence[Column], width: int, gap: int = 1) -> list[tuple[Column, int]]:
    """Return the columns that fit into `width`, in order, with their widths. The widest columns are narrowed first."""
    visible = list(columns)
    while True:
        last_ranked = max(visible, key=lambda column: column.rank)
        widths = _shrink(visible, width - gap * (len(visible) - 1), at_any_cost=not last_ranked.rank)
        if widths:
            return list(zip(visible, widths, strict=True))
        visible.remove(last_ranked)


def _shrink(columns: Sequence[Column], room: int, at_any_cost: bool) -> list[int]:
    """Return a width for each column, or [] if they do not fit. `at_any_cost`: narrow columns down to one cell."""
    widths = [column.natural for column in columns]
    while sum(widths) > room:
        shrinkable = [index for index, column in enumerate(columns) if widths[index] > column.least]
        if not shrinkable and at_any_cost:
            shrinkable = [index for index, width in enumerate(widths) if width > 1]
        if not shrinkable:
            return widths if at_any_cost else []
        widths[max(shrinkable, key=lambda index: widths[index])] -= 1
    return widths


def truncate(text: str, width: int, middle: bool = False) -> str:
    """Return the text if it fits, else a part of it with an ellipsis at the end or in the middle."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail = (width - 1) // 2 if middle else 0
    return _first_cells(text, width - 1 - tail) + ELLIPSIS + _first_cells(text[::-1], tail)[::-1]


def _first_cells(text: str, width: int) -> str:
    """Return the longest beginning of the text that is at most `width` cells wide."""
    return chop_cells(text, width)[0] if width > 1 else text[:1] if width and cell_len(text[:1]) == 1 else ""


def pad(text: str, width: int) -> str:
    """Return the text with spaces up to the width. A wider text is not changed."""
    return set_cell_size(text, max(width, cell_len(text)))
