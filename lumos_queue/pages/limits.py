"""The levels of limits that keep a page small. They are tried from the largest limits to the smallest."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BYTES = 1_000_000  #: of a page


@dataclass(frozen=True, slots=True)
class PageLimits:
    """The limits of a page, in characters if no other unit is stated."""

    text: int  #: of a question, an answer, a cell
    prompt: int  #: of a folded prompt or reply
    steps: int  #: rows, and calls, of a trajectory
    pictures: int  #: bytes of the pictures of all trajectories; of further pictures only the label is displayed
    shows_counterparts: bool  #: whether the page has another job's right episode of the same task
    rows: int  #: of a table
    points: int  #: of all curves of a section


LEVELS = (
    PageLimits(text=6_000, prompt=20_000, steps=200, pictures=400_000, shows_counterparts=True, rows=400, points=400),
    PageLimits(text=3_000, prompt=6_000, steps=120, pictures=200_000, shows_counterparts=True, rows=400, points=400),
    PageLimits(text=1_500, prompt=2_000, steps=60, pictures=100_000, shows_counterparts=False, rows=300, points=300),
    PageLimits(text=800, prompt=800, steps=30, pictures=0, shows_counterparts=False, rows=200, points=200),
    PageLimits(text=300, prompt=300, steps=15, pictures=0, shows_counterparts=False, rows=100, points=120),
    PageLimits(text=120, prompt=0, steps=8, pictures=0, shows_counterparts=False, rows=100, points=60),
)


def truncate(text: str, limit: int) -> str:
    """Return the text, or its beginning and its end with the number of characters that are left out between both."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return f"{text[:head]} [… {len(text) - limit:,} characters left out …] {text[len(text) - tail :] if tail else ''}"


def shorten(text: str, limit: int) -> str:
    """Return a name, cut off at `limit` characters, because its full text is elsewhere on the page."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
