"""Rows of episodes: at the first claim or an import, at the end, and their judgements."""

from __future__ import annotations

from typing import NamedTuple

from db.engine.rows.declaration import writes_to
from db.kinds.totals import NO_TOTALS, EpisodeTotals
from db.models import EpisodeRow, ScoreRow, VerdictRow


@writes_to(EpisodeRow, stamp="started_at")
class NewEpisode(NamedTuple):
    """An episode without an ending."""

    id: int
    job: str
    task: int
    sample: int
    formulation: str
    agent: str
    origin: str
    split: str
    licence: str
    parent: int | None = None
    level: str = ""
    attempt: int = 1
    ending: str = ""
    answer: str | None = None
    message: str = ""
    totals: EpisodeTotals = NO_TOTALS
    seconds: float = 0.0


@writes_to(EpisodeRow, stamp="finished_at")
class EpisodeResult(NamedTuple):
    """The accepted result of an episode."""

    id: int
    level: str
    attempt: int
    ending: str
    answer: str | None
    message: str
    totals: EpisodeTotals
    seconds: float


@writes_to(EpisodeRow, stamp="finished_at")
class EpisodeEnding(NamedTuple):
    """The ending of an imported episode."""

    id: int
    ending: str


@writes_to(ScoreRow)
class NewScore(NamedTuple):
    """A judgement about an episode."""

    episode: int
    metric: str
    version: str
    value: float
    trials: int
    detail: str


@writes_to(VerdictRow)
class NewVerdict(NamedTuple):
    """A filter's verdict on an annotated episode."""

    episode: int
    module: str
    name: str
    rejects: bool
    detail: str
