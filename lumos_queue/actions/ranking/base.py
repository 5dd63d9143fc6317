"""What every ranker offers, and how a text carries its title."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Ranker(Protocol):
    """Scores texts by how well they fit a query. Usable by many episodes at once."""

    name: str  #: as an option says it, e.g. 'lexical' or 'dpr:DIR'

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score for each text, the higher the better; comparable within one call only.

        A text that has a title begins with it, on a separate line (`join_title`). Raises SpecError when the ranker's
        model cannot be loaded, InfrastructureError when it fails on the way.
        """
        ...

    async def close(self) -> None:
        """End its threads and release its model."""
        ...


@dataclass(frozen=True, slots=True)
class RankerKind:
    """One way to rank, as an option names it."""

    published: str  #: the model of this kind that LUMOS ranks with; '' where no weights are needed
    open: Callable[[Path | None], Ranker]  #: from a folder of weights, where they are needed


def join_title(title: str, text: str) -> str:
    """The text with its title in front, as rankers are given it."""
    return f"{' '.join(title.split())}\n{text}" if title else text


def split_title(text: str) -> tuple[str, str]:
    """(title, text) of what `join_title` made; the title is '' when there is none."""
    title, line_break, rest = text.partition("\n")
    return (title, rest) if line_break else ("", text)


def top_positions(scores: Sequence[float], count: int) -> list[int]:
    """The positions of the `count` highest scores, the best first; of equal ones the earlier first."""
    return sorted(range(len(scores)), key=lambda position: -scores[position])[:count]
