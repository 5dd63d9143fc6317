"""How much of each text a page holds, so that it stays small; tried from the largest to the smallest."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BYTES = 1_000_000  #: of a page


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Of one page. Characters, unless it says otherwise."""

    text: int  #: of a question, an answer, a cell
    prompt: int  #: of a prompt or a reply that is folded
    steps: int  #: rows, and calls, of a trajectory
    pictures: int  #: bytes of the pictures of all trajectories; others are named
    others: bool  #: whether the other job's right episode of the same task is shown, too
    rows: int  #: of a table
    points: int  #: of all curves of a section


LEVELS = (
    PageLimits(text=6_000, prompt=20_000, steps=200, pictures=400_000, others=True, rows=400, points=400),
    PageLimits(text=3_000, prompt=6_000, steps=120, pictures=200_000, others=True, rows=400, points=400),
    PageLimits(text=1_500, prompt=2_000, steps=60, pictures=100_000, others=False, rows=300, points=300),
    PageLimits(text=800, prompt=800, steps=30, pictures=0, others=False, rows=200, points=200),
    PageLimits(text=300, prompt=300, steps=15, pictures=0, others=False, rows=100, points=120),
    PageLimits(text=120, prompt=0, steps=8, pictures=0, others=False, rows=100, points=60),
)


def cut(text: str, most: int) -> str:
    """The text, or its beginning and end and how many characters are left out between them."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most - most * 2 // 3
    return f"{text[:head]} [… {len(text) - most:,} characters left out …] {text[len(text) - tail :] if tail else ''}"


def shorten(text: str, most: int) -> str:
    """The beginning of a name, where the rest of it is told elsewhere."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
