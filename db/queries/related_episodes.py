"""Other episodes on the task of an episode: other samples, corrections, and episodes of other jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, case, select

from db.kinds.states import HIDDEN
from db.models import EpisodeRow, Item, JobRow
from db.queries.filter_sql import newest_score

MAX_RELATIVES = 60  #: episodes that are listed


@dataclass(frozen=True, slots=True)
class Relative:
    """An episode on the same task."""

    name: str  #: JOB-NUMBER
    job: str
    job_name: str
    formulation: str
    sample: int
    origin: str
    ending: str
    score: float | None
    corrects: bool  #: whether it is a correction of the given episode


def find_relatives(connection: Connection, episode: EpisodeRow, limit: int = MAX_RELATIVES) -> Sequence[Relative]:
    """Return the other episodes on an episode's task: its corrections, then those of its job, then by job and sample.

    `episode` is its row. At most `limit` + 1 episodes are returned; if there are so many, more may exist. A correction
    is included, because it has the task of the episode that it corrects.
    """
    hidden_jobs = select(JobRow.id).where(JobRow.state.in_(HIDDEN))
    nearness = case((EpisodeRow.parent == episode.id, 0), (EpisodeRow.job == episode.job, 1), else_=2)
    rows = connection.execute(
        select(EpisodeRow.job, EpisodeRow.formulation, EpisodeRow.sample, EpisodeRow.origin, EpisodeRow.ending)
        .add_columns(EpisodeRow.parent, Item.ordinal, JobRow.name, newest_score(connection).label("score"))
        .join(Item, Item.id == EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(EpisodeRow.task == episode.task, EpisodeRow.id != episode.id, EpisodeRow.job.not_in(hidden_jobs))
        .order_by(nearness, EpisodeRow.job, EpisodeRow.sample)
        .limit(limit + 1)
    )
    return [
        Relative(
            f"{row.job}-{row.ordinal}",
            row.job,
            row.name,
            row.formulation,
            row.sample,
            row.origin,
            row.ending,
            row.score,
            row.parent == episode.id,
        )
        for row in rows
    ]
