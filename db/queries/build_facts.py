"""Read facts about the stored tasks and episodes that decide which episodes a build may take."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy import and_, false, or_, select

from db.engine.connection import Connection
from db.models import EpisodeRow, JobRow, TaskRow
from lumos_queue.records import Origin

_AT_ONCE = 1000  #: texts of tasks that are read at once


class Split(NamedTuple):
    """A split of a benchmark."""

    benchmark: str
    split: str


def list_splits(connection: Connection) -> list[Split]:
    """Return the splits of all jobs, each once."""
    return [Split(*row) for row in connection.execute(select(JobRow.benchmark, JobRow.split).distinct())]


def stream_questions(connection: Connection, splits: Collection[Split]) -> Iterator[str]:
    """Yield the questions of the datasets of all jobs on these splits, each once.

    The jobs' splits decide, because the same file may have been stored as another split first.
    """
    of_splits = or_(false(), *(and_(JobRow.benchmark == name, JobRow.split == split) for name, split in splits))
    datasets = select(JobRow.dataset).where(of_splits, JobRow.dataset.is_not(None))
    questions = select(TaskRow.question).where(TaskRow.dataset.in_(datasets)).distinct()
    yield from connection.execute(questions.execution_options(yield_per=_AT_ONCE)).scalars()


def find_corrected_episodes(connection: Connection) -> frozenset[int]:
    """Return the episodes that have an accepted correction.

    The query selects by the jobs of corrections, which have an index, because a pass over all episodes would be slow.
    """
    jobs = select(JobRow.id).where(JobRow.origin == Origin.CORRECTED)
    conditions = (EpisodeRow.level != "", EpisodeRow.ending != "")
    parents = connection.execute(select(EpisodeRow.parent).where(EpisodeRow.job.in_(jobs), *conditions)).scalars()
    return frozenset(parent for parent in parents if parent is not None)
