"""The protocol of rankers, and the form of a text with its title."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Ranker(Protocol):
    """Scores texts by how well they fit a query. Many episodes may use it at the same time."""

    name: str  #: as in an option, e.g. 'lexical' or 'dpr:DIR'

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, the higher the better. Scores of different calls cannot be compared.

        A text that has a title begins with it, on a separate line (`join_title`). Raises SpecError if the ranker's
        model cannot be loaded, InfrastructureError if it fails later.
        """
        ...

    async def close(self) -> None:
        """End the ranker's threads and release its model."""
        ...


@dataclass(frozen=True, slots=True)
class RankerKind:
    """A kind of ranker, such as `dpr` in the option `--tool ranker=dpr:DIR`."""

    published: str  #: the model of this kind that LUMOS ranks with; '' where no weights are needed
    open: Callable[[Path | None], Ranker]  #: from a folder of weights, where they are needed


def join_title(title: str, text: str) -> str:
    """Return the text with its title in front, for rankers."""
    return f"{' '.join(title.split())}\n{text}" if title else text


def split_title(text: str) -> tuple[str, str]:
    """Return (title, text) of a text that `join_title` made; the title is '' if there is none."""
    title, line_break, rest = text.partition("\n")
    return (title, rest) if line_break else ("", text)


def top_positions(scores: Sequence[float], count: int) -> list[int]:
    """Return the positions of the `count` highest scores, the best first. Equal scores keep their order."""
    return sorted(range(len(scores)), key=lambda position: -scores[position])[:count]
