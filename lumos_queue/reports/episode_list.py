"""Describe the episodes of a list."""

from __future__ import annotations

from dataclasses import dataclass, field

from db.queries.trajectories import ListedEpisode
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.trajectory import gold_text


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """A finished episode in a list."""

    episode: str  #: JOB-NUMBER
    gold: str | None
    score: float | None  #: by the main metric of its job
    ending: str
    answer: str | None
    calls: int
    question: str
    benchmark: str
    formulation: str
    sample: int
    origin: str
    level: str  #: of the check of an annotation
    subgoals: int | None = field(default=None, metadata=OPTIONAL)  #: None if they were not counted


def describe_episode(row: ListedEpisode, subgoals: int | None = None) -> EpisodeLine:
    """Return an episode in the form of `lumos episodes --json`."""
    return EpisodeLine(
        episode=f"{row.job}-{row.ordinal}",
        gold=gold_text(row.gold) or None,
        score=row.score,
        ending=row.ending,
        answer=row.answer,
        calls=row.calls,
        question=row.question,
        benchmark=row.benchmark,
        formulation=row.formulation,
        sample=row.sample,
        origin=row.origin,
        level=row.level,
        subgoals=subgoals,
    )
