"""The blocks of a page, the same for all formats. All texts are plain, and the renderer of a format escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lumos_queue.pages.trajectories import ShownEpisode

MAX_PARALLEL = 4  #: parallel columns of a table on a page


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    warns: bool = False  #: whether it is a warning that readers of the figures must see


@dataclass(frozen=True, slots=True)
class Table:
    """A table: rows of cells under heads. The first cell of a row is the row's label."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: frozenset[int] = frozenset({0})  #: indexes of columns of text, aligned left; other columns are numbers
    folded: bool = False
    #: For each column, when it leaves a narrow table: the highest first, 0 never. Default: the last column first.
    ranks: Sequence[int] = ()
    #: Whether the columns after the first are alike, such as jobs: a narrow terminal shows them in several tables, and
    #: pages show many of them as rows.
    parallel: bool = False

    def for_page(self) -> Table:
        """Return the table as pages show it: with a row for each of the parallel columns if there are many."""
        if not self.parallel or len(self.heads) - 1 <= MAX_PARALLEL:
            return self
        heads, *rows = zip(*(self.heads, *self.rows), strict=True)
        return replace(self, heads=heads, rows=rows, parallel=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, and the table of its numbers."""

    svg: str
    table: Table
    legend: Sequence[tuple[str, str]] = ()  #: (class, name) of each colour


@dataclass(frozen=True, slots=True)
class Episodes:
    """A block of whole trajectories, whose long texts are truncated."""

    shown: Sequence[ShownEpisode]


Block = Text | Table | Figure | Episodes


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. A section without blocks is left out."""

    key: str  #: its anchor in the page
    title: str
    blocks: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A page of several sections."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    made: str  #: the time, and the version of the code
    left_out: Sequence[str] = field(default=())  #: lines on what was left out to keep the page small
