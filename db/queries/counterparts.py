"""Find the episode of a job that answers the same task as an episode of another job."""

from __future__ import annotations

from sqlalchemy import Connection, select
from sqlalchemy.orm import aliased

from db.models import EpisodeRow, Item, TaskRow
from db.queue.equal_tasks import match_tasks


def find_equal_task(connection: Connection, task: int, dataset: str) -> int | None:
    """Return the key of the task in the dataset that equals the task with this key, or None."""
    original, equal = aliased(TaskRow), aliased(TaskRow)
    query = select(equal.id).join(original, match_tasks(connection, original, equal))
    return connection.execute(query.where(original.id == task, equal.dataset == dataset).limit(1)).scalar()


def find_finished_episode(connection: Connection, job: str, task: int, sample: int) -> int | None:
    """Return the number of the job's finished episode on the task (its key) and sample, or None."""
    return connection.execute(
        select(Item.ordinal)
        .join(EpisodeRow, EpisodeRow.id == Item.id)
        .where(EpisodeRow.job == job, EpisodeRow.task == task, EpisodeRow.sample == sample)
        .where(EpisodeRow.ending != "")
    ).scalar()
