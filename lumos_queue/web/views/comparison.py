"""Jobs side by side: the tasks that a second job fixed or broke, and the episodes of one task in several jobs."""

from __future__ import annotations

from collections.abc import Sequence

from db.engine.connection import Connection
from db.queries.counterparts import find_equal_task, find_finished_episode
from db.queries.pairs import Pair, Pairs
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.reports.comparability import choose_metric

LISTED = 30  #: tasks of a list
MAX_JOBS = 8  #: in one comparison


def list_changed(
    connection: Connection, first: StoredJob, second: StoredJob, metric: str, better: bool, after: int
) -> tuple[list[Pair], bool]:
    """Return the next tasks (pairs of episodes) on which the second job is better, or worse, and whether more follow.

    Raises SpecError if the jobs have no common score.
    """
    metric = choose_metric(connection, [first, second], metric)
    pairs = Pairs(connection, first, second, metric, by_content=first.dataset != second.dataset)
    changes = pairs.list_changed(better, LISTED + 1, after=after)
    return changes[:LISTED], len(changes) > LISTED


def find_of_task(connection: Connection, jobs: Sequence[StoredJob], task: int, sample: int) -> list[str]:
    """Return JOB-NUMBER of each job's episode of a task of the first job's dataset, in the order of the jobs.

    A job with another dataset has the same row as another task. Raises SpecError for a job without such an episode.
    """
    names = []
    for job in jobs:
        key: int | None = task
        if job.dataset != jobs[0].dataset:
            key = find_equal_task(connection, task, job.dataset) if job.dataset else None
        ordinal = None if key is None else find_finished_episode(connection, job.id, key, sample)
        if ordinal is None:
            raise SpecError(
                f"Job {job.id} has no finished episode of this task: choose a task from the list of changed tasks."
            )
        names.append(f"{job.id}-{ordinal}")
    return names
