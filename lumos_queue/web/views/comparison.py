"""Jobs side by side: the tasks that a second job fixed or broke, and the episodes of one task in several jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import aliased

from db.models import EpisodeRow, Item, TaskRow
from db.queries.pairs import Pair, Pairs
from db.queue.equal_tasks import match_tasks
from lumos_queue.errors import SpecError
from lumos_queue.reports.comparability import choose_metric

LISTED = 30  #: tasks of a list
MAX_JOBS = 8  #: in one comparison


def list_changed(
    connection: Connection, first: Any, second: Any, metric: str, better: bool, after: int
) -> tuple[list[Pair], bool]:
    """Return the next tasks (pairs of episodes) on which the second job is better, or worse, and whether more follow.

    Raises SpecError if the jobs have no common score.
    """
    metric = choose_metric(connection, [first, second], metric)
    pairs = Pairs(connection, first, second, metric, by_content=first.dataset != second.dataset)
    changes = pairs.list_changed(better, LISTED + 1, after=after)
    return changes[:LISTED], len(changes) > LISTED


def find_of_task(connection: Connection, jobs: Sequence[Any], task: int, sample: int) -> list[str]:
    """Return JOB-NUMBER of each job's episode of a task of the first job's dataset, in the order of the jobs.

    A job with another dataset has the same row as another task. Raises SpecError for a job without such an episode.
    """
    original, same = aliased(TaskRow), aliased(TaskRow)
    names = []
    for job in jobs:
        key: Any = task
        if job.dataset != jobs[0].dataset:
            twin = select(same.id).join(original, match_tasks(connection, original, same))
            key = connection.execute(twin.where(original.id == task, same.dataset == job.dataset).limit(1)).scalar()
        ordinal = connection.execute(
            select(Item.ordinal)
            .join(EpisodeRow, EpisodeRow.id == Item.id)
            .where(EpisodeRow.job == job.id, EpisodeRow.task == key, EpisodeRow.sample == sample)
            .where(EpisodeRow.ending != "")
        ).scalar()
        if ordinal is None:
            raise SpecError(
                f"Job {job.id} has no finished episode of this task: choose a task from the list of changed tasks."
            )
        names.append(f"{job.id}-{ordinal}")
    return names
