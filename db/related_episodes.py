"""Other episodes on the task of one: its other samples, corrections of it, and those of other jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, case, select

from db.filter_sql import newest_score
from db.models import EpisodeRow, Item, JobRow
from db.states import HIDDEN

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
    corrects: bool  #: whether it is a correction of the one that was asked about


def find_relatives(connection: Connection, episode: Any, most: int = MAX_RELATIVES) -> Sequence[Relative]:
    """The others on the task of an episode (its row): corrections of it, then those of its job, then by job and sample.

    At most one more than `most`, which says that there are more. A correction is stored with
    the task of what it corrects, so that it is among them.
    """
    hidden = select(JobRow.id).where(JobRow.state.in_(HIDDEN))
    nearness = case((EpisodeRow.parent == episode.id, 0), (EpisodeRow.job == episode.job, 1), else_=2)
    rows = connection.execute(
        select(EpisodeRow.job, EpisodeRow.formulation, EpisodeRow.sample, EpisodeRow.origin, EpisodeRow.ending)
        .add_columns(EpisodeRow.parent, Item.ordinal, JobRow.name, newest_score(connection).label("score"))
        .join(Item, Item.id == EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(EpisodeRow.task == episode.task, EpisodeRow.id != episode.id, EpisodeRow.job.not_in(hidden))
        .order_by(nearness, EpisodeRow.job, EpisodeRow.sample)
        .limit(most + 1)
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
