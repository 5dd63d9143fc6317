"""Removing a job in chunks: it is hidden at once, then its rows are deleted."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, or_, select, update

from db.artifacts import remove_unnamed
from db.chunks import UNTOUCHED_SECONDS, Chunks
from db.connection import Database, now
from db.models import Dataset, DatasetArtifact, Item, JobRow, TaskRow
from db.states import HIDDEN, JobState
from db.time_conditions import JOB_WAIT_SECONDS, is_due


def hide(connection: Connection, job: str) -> None:
    """From the end of this transaction on the job is hidden; `remove_rest` is still to be called."""
    gone = update(JobRow).where(JobRow.id == job)
    connection.execute(gone.values(state=JobState.REMOVING, not_before_at=now() + UNTOUCHED_SECONDS))


def remove_leftovers(database: Database, job: str | None = None) -> None:
    """Remove what interrupted submits and removals have left, and the hidden or half-stored `job`."""
    abandoned = JobRow.state.in_(HIDDEN) & or_(is_due(JobRow.not_before_at, JOB_WAIT_SECONDS), JobRow.id == job)
    with database.engine.connect() as connection:
        left = list(connection.execute(select(JobRow.id).where(abandoned)).scalars())
    for one in left:
        with database.writer.begin() as connection:
            # Looked at again under the lock: a process that was only slow has touched it meanwhile.
            mine = update(JobRow).where(JobRow.id == one, abandoned)
            if not connection.execute(
                mine.values(state=JobState.REMOVING, not_before_at=now() + UNTOUCHED_SECONDS)
            ).rowcount:
                continue
        remove_rest(database, one)


def remove_rest(database: Database, job: str) -> None:
    """Remove all rows of a hidden job, and of its dataset what no other job uses."""
    chunks = Chunks(database)
    chunks.rows = min(chunks.rows, 200)  # an item has many rows of steps
    with database.engine.connect() as connection:
        dataset = connection.execute(select(JobRow.dataset).where(JobRow.id == job)).scalar()
        items = _end_of(connection, Item, Item.job == job)
        tasks = _end_of(connection, TaskRow, TaskRow.dataset == dataset) if dataset else 0
    while items:
        first = max(0, items - chunks.rows)
        with chunks.transaction() as connection:
            _touch(connection, job)
            connection.execute(delete(Item).where(Item.job == job, Item.ordinal >= first, Item.ordinal < items))
        items = first
    while dataset and tasks:
        first = max(0, tasks - chunks.rows)
        with chunks.transaction() as connection:
            _touch(connection, job)
            if _is_used(connection, dataset, job):
                break
            connection.execute(update(Dataset).where(Dataset.digest == dataset).values(complete=False))
            # A correction's items have tasks of other jobs' datasets: these tasks stay, and so does the dataset.
            unused = ~exists().where(Item.task == TaskRow.id)
            mine = (TaskRow.dataset == dataset, TaskRow.ordinal >= first, TaskRow.ordinal < tasks)
            connection.execute(delete(TaskRow).where(*mine, unused))
        tasks = first
    with chunks.transaction() as connection:
        connection.execute(delete(JobRow).where(JobRow.id == job, JobRow.state == JobState.REMOVING))
        if dataset:
            used = exists().where(JobRow.dataset == Dataset.digest), exists().where(TaskRow.dataset == Dataset.digest)
            gone = connection.execute(delete(Dataset).where(Dataset.digest == dataset, ~or_(*used))).rowcount
            if gone:
                connection.execute(delete(DatasetArtifact).where(DatasetArtifact.dataset == dataset))
    while True:
        with chunks.transaction() as connection:
            if not remove_unnamed(connection, most=20):  # each may have megabytes
                break


def _end_of(connection: Connection, table: Any, which: ColumnElement[bool]) -> int:
    """The ordinals of these rows are smaller than this. From there on downwards they are removed, without looking for
    the rest each time: PostgreSQL would walk over the entries of all that is gone already."""
    return connection.execute(select(func.coalesce(func.max(table.ordinal) + 1, 0)).where(which)).scalar_one()


def _touch(connection: Connection, job: str) -> None:
    """Say that this process is at work. By the lock, two that remove the same job take turns."""
    mine = update(JobRow).where(JobRow.id == job, JobRow.state == JobState.REMOVING)
    connection.execute(mine.values(not_before_at=now() + UNTOUCHED_SECONDS))


def _is_used(connection: Connection, dataset: str, job: str) -> bool:
    """Whether another job works on the dataset; none begins to before this transaction ends."""
    connection.execute(select(Dataset.digest).where(Dataset.digest == dataset).with_for_update())
    others = select(func.count()).where(JobRow.dataset == dataset, JobRow.id != job, JobRow.state != JobState.REMOVING)
    return connection.execute(others).scalar_one() > 0
