"""Rows that are added to a job's sums over its ended items: first the key, then the numbers."""

from __future__ import annotations

from typing import NamedTuple

from db.engine.rows.declaration import writes_to
from db.kinds.totals import NO_TOTALS, EpisodeTotals
from db.models import CallSum, ItemSum, ScoreSum, VersionSum


@writes_to(ItemSum)
class AddedItems(NamedTuple):
    """Ended items of one state, ending, and number of subgoals and replies."""

    job: str
    session: int
    state: str
    ending: str
    subgoals: int
    replies: int
    items: int
    totals: EpisodeTotals = NO_TOTALS
    action_seconds: float = 0.0


@writes_to(CallSum)
class AddedCalls(NamedTuple):
    """Model calls of one role, with their seconds by phase."""

    job: str
    session: int
    role: str
    calls: int
    seconds: float
    waited: float
    lost: float
    queued: float


@writes_to(ScoreSum)
class AddedScores(NamedTuple):
    """Episodes with one score."""

    job: str
    session: int
    metric: str
    version: str
    value: float
    trials: int
    episodes: int


@writes_to(VersionSum)
class AddedVersions(NamedTuple):
    """Finished episodes of one version of the code, or of a role's prompts."""

    job: str
    session: int
    role: str
    value: str
    episodes: int
