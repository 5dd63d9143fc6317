"""Jobs on stored rows: a repeated request, on all of its rows, on selected rows, or with episodes that are adopted from
another job (db/transfer/adopt.py). No file is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, exists, select, update

from db.engine.bulk import insert_rows
from db.engine.chunks import UNTOUCHED_SECONDS, Chunks
from db.engine.connection import Database, now
from db.engine.rows.jobs import NewItem
from db.engine.time_conditions import now_after
from db.kinds.states import UNFINISHED, JobState
from db.models import Dataset, EpisodeRow, Item, JobRow, TaskRow
from db.queries.filter_sql import conditions
from db.queries.filters import Filter
from db.queue.datasets import store_items
from db.queue.new_jobs import (
    SAME_SECONDS,
    NewJob,
    find_same,
    insert_job,
    is_being_submitted,
    lock_digest,
    new_id,
    publish,
)
from db.queue.removal import remove_leftovers
from lumos_queue.errors import SpecError

#: A function that stores some of a job's items in one transaction. Its arguments: the connection, the job, the first
#: ordinal, and the ordinal after the last.
Store = Callable[[Connection, str, int, int], None]


@dataclass(frozen=True, slots=True)
class Part:
    """A selected task."""

    task: int  #: its key
    number: int  #: in the dataset, from 0


def choose_tasks(connection: Connection, job: str, query: Filter) -> list[Part]:
    """Return the tasks of which an episode of the job meets the filter, in the order of the dataset."""
    matching_tasks = select(EpisodeRow.task).where(EpisodeRow.job == job, *conditions(connection, query))
    rows = connection.execute(
        select(TaskRow.id, TaskRow.ordinal).where(TaskRow.id.in_(matching_tasks)).order_by(TaskRow.ordinal)
    )
    return [Part(task, position) for task, position in rows]


def store_first(dataset: str, tasks: int) -> Store:
    """Return a function that stores items of the first tasks of a dataset, sample by sample."""

    def store(connection: Connection, job: str, first: int, last: int) -> None:
        store_items(connection, job, dataset, tasks, first, last)

    return store


def store_chosen(tasks: Sequence[Part]) -> Store:
    """Return a function that stores items of these tasks, sample by sample."""

    def store(connection: Connection, job: str, first: int, last: int) -> None:
        rows: list[NewItem] = []
        for ordinal in range(first, last):
            sample, index = divmod(ordinal, len(tasks))
            rows.append(NewItem(job, ordinal, tasks[index].task, sample))
        insert_rows(connection, NewItem, rows)

    return store


def create_repeat(
    database: Database, new: NewJob, dataset: str, items: int, store: Store, *, again: bool = False, max_items: int = 0
) -> tuple[str, bool]:
    """Store a job on a stored dataset, and its items; return the job's id and whether the job is new.

    As in db/queue/new_jobs.py, a stored job of the same content that was not cancelled is returned instead, unless
    `again`. The job is hidden until all of it is stored; the next submit removes the rows of an interrupted submit.
    `max_items`: limits the items of the first transaction, if an item has many rows. A job without pending items is
    done at once. Raises SpecError when the dataset was removed.
    """
    job, chunks = new_id(), Chunks(database)
    chunks.rows = min(chunks.rows, max_items or chunks.rows)
    while True:
        remove_leftovers(database)
        with database.writer.begin() as connection:
            lock_digest(connection, new.digest)
            if not again and (same := find_same(connection, new.digest)):
                return same, False
            if again or not is_being_submitted(connection, new.digest):
                _keep(connection, dataset, new.parent)
                deadline = now() + UNTOUCHED_SECONDS
                insert_job(
                    connection,
                    job,
                    new,
                    dataset=dataset,
                    items=items,
                    state=JobState.SUBMITTING,
                    not_before_at=deadline,
                )
                break
        time.sleep(SAME_SECONDS)  # another process is storing the same
    try:
        first = 0
        while first < items:
            last = min(items, first + chunks.rows)
            with chunks.transaction() as connection:
                chunks.touch(connection, job)
                store(connection, job, first, last)
            first = last
        with database.writer.begin() as connection:
            chunks.touch(connection, job)
            publish(connection, job)
            _finish_if_all_done(connection, job)
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            remove_leftovers(database, job)
        raise
    return job, True


def _keep(connection: Connection, dataset: str, parent: str | None) -> None:
    """Lock a dataset against removal until this transaction ends. Raises SpecError when it was removed."""
    query = select(Dataset.complete).where(Dataset.digest == dataset).with_for_update(key_share=True, read=True)
    if not connection.execute(query).scalar():
        raise SpecError(f"Job {parent} was removed meanwhile, and its rows with it: give the data again, with --data.")


def _finish_if_all_done(connection: Connection, job: str) -> None:
    has_unfinished = exists().where(Item.job == job, Item.state.in_(UNFINISHED))
    changes = {"state": JobState.DONE, "finished_at": now_after(JobRow.started_at)}
    connection.execute(update(JobRow).where(JobRow.id == job, ~has_unfinished).values(changes))
