"""Remove a job in chunks: it is hidden at once, then its rows are deleted."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, or_, select, update

from db.engine.chunks import UNTOUCHED_SECONDS, Chunks
from db.engine.connection import Database, now
from db.engine.time_conditions import JOB_WAIT_SECONDS, is_due
from db.journal.artifacts import remove_unnamed
from db.kinds.states import HIDDEN, JobState
from db.models import Dataset, DatasetArtifact, Item, JobRow, TaskRow


def hide(connection: Connection, job: str) -> None:
    """Hide the job when this transaction ends. The caller must call `remove_rest` afterwards."""
    statement = update(JobRow).where(JobRow.id == job)
    connection.execute(statement.values(state=JobState.REMOVING, not_before_at=now() + UNTOUCHED_SECONDS))


def remove_leftovers(database: Database, job: str | None = None) -> None:
    """Remove the hidden jobs that interrupted submits and removals have left, and the hidden job `job` at once."""
    is_abandoned = JobRow.state.in_(HIDDEN) & or_(is_due(JobRow.not_before_at, JOB_WAIT_SECONDS), JobRow.id == job)
    with database.engine.connect() as connection:
        leftovers = list(connection.execute(select(JobRow.id).where(is_abandoned)).scalars())
    for leftover in leftovers:
        with database.writer.begin() as connection:
            # The condition is checked again under the lock: a slow process may have touched the job meanwhile.
            statement = update(JobRow).where(JobRow.id == leftover, is_abandoned)
            if not connection.execute(
                statement.values(state=JobState.REMOVING, not_before_at=now() + UNTOUCHED_SECONDS)
            ).rowcount:
                continue
        remove_rest(database, leftover)


def remove_rest(database: Database, job: str) -> None:
    """Remove all rows of a hidden job, and its dataset's tasks unless another job uses them."""
    chunks = Chunks(database)
    chunks.rows = min(chunks.rows, 200)  # an item has many rows of steps
    with database.engine.connect() as connection:
        dataset = connection.execute(select(JobRow.dataset).where(JobRow.id == job)).scalar()
        items = _end_of(connection, Item, Item.job == job)
        tasks = _end_of(connection, TaskRow, TaskRow.dataset == dataset) if dataset else 0
    while items:
        first = max(0, items - chunks.rows)
        chunks.run(partial(_remove_items, job=job, first=first, end=items))
        items = first
    while dataset and tasks:
        first = max(0, tasks - chunks.rows)
        if not chunks.run(partial(_remove_tasks, job=job, dataset=dataset, first=first, end=tasks)):
            break
        tasks = first
    chunks.run(partial(_remove_job, job=job, dataset=dataset))
    while chunks.run(lambda connection: remove_unnamed(connection, limit=20)):  # each may have megabytes
        pass


def _remove_items(connection: Connection, job: str, first: int, end: int) -> None:
    """Remove the items from `first` to `end` - 1. A worker that holds some of them may be writing their steps."""
    _touch(connection, job)
    connection.execute(delete(Item).where(Item.job == job, Item.ordinal >= first, Item.ordinal < end))


def _remove_tasks(connection: Connection, job: str, dataset: str, first: int, end: int) -> bool:
    """Remove the tasks from `first` to `end` - 1 that no item has. Return False if another job uses the dataset."""
    _touch(connection, job)
    if _is_used(connection, dataset, job):
        return False
    connection.execute(update(Dataset).where(Dataset.digest == dataset).values(complete=False))
    # A correction's items have tasks of other jobs' datasets: these tasks stay, and so does the dataset.
    is_unused = ~exists().where(Item.task == TaskRow.id)
    of_chunk = (TaskRow.dataset == dataset, TaskRow.ordinal >= first, TaskRow.ordinal < end)
    connection.execute(delete(TaskRow).where(*of_chunk, is_unused))
    return True


def _remove_job(connection: Connection, job: str, dataset: str | None) -> None:
    """Remove the job, and its dataset unless another job or a task uses it."""
    connection.execute(delete(JobRow).where(JobRow.id == job, JobRow.state == JobState.REMOVING))
    if dataset:
        usage = exists().where(JobRow.dataset == Dataset.digest), exists().where(TaskRow.dataset == Dataset.digest)
        removed_rows = connection.execute(delete(Dataset).where(Dataset.digest == dataset, ~or_(*usage))).rowcount
        if removed_rows:
            connection.execute(delete(DatasetArtifact).where(DatasetArtifact.dataset == dataset))


def _end_of(connection: Connection, table: Any, condition: ColumnElement[bool]) -> int:
    """Return the largest ordinal of these rows plus 1, or 0 without rows.

    Rows are removed from there downwards. A search for the remaining rows from the start would make PostgreSQL read the
    index entries of all removed rows.
    """
    return connection.execute(select(func.coalesce(func.max(table.ordinal) + 1, 0)).where(condition)).scalar_one()


def _touch(connection: Connection, job: str) -> None:
    """Record that this process is at work. The lock on the row lets two processes that remove the job take turns."""
    statement = update(JobRow).where(JobRow.id == job, JobRow.state == JobState.REMOVING)
    connection.execute(statement.values(not_before_at=now() + UNTOUCHED_SECONDS))


def _is_used(connection: Connection, dataset: str, job: str) -> bool:
    """Whether another job uses the dataset. The dataset is locked, so no further job can use it in this transaction."""
    connection.execute(select(Dataset.digest).where(Dataset.digest == dataset).with_for_update())
    query = select(func.count()).where(JobRow.dataset == dataset, JobRow.id != job, JobRow.state != JobState.REMOVING)
    return connection.execute(query).scalar_one() > 0
