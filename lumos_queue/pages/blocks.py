"""What a page is made of, whatever it is written as. All texts are plain: who writes a page escapes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lumos_queue.pages.trajectories import ShownEpisode


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    warns: bool = False  #: about figures that must not be read without it


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under heads. The first cell of a row says what the row is about."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    texts: frozenset[int] = frozenset({0})  #: columns of words, which begin at the left; others are numbers
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, and the table of the numbers that it is drawn from."""

    svg: str
    table: Table
    legend: Sequence[tuple[str, str]] = ()  #: (class, name) of each colour


@dataclass(frozen=True, slots=True)
class Episodes:
    """Trajectories, each whole but for texts that are cut."""

    shown: Sequence[ShownEpisode]


Block = Text | Table | Figure | Episodes


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. One without blocks is left out, with its heading."""

    key: str  #: its address in the page
    title: str
    blocks: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A page of several sections."""

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    made: str  #: when, and by which version of the code
    left_out: Sequence[str] = field(default=())  #: what was cut so that the page is small, in words
