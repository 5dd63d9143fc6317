"""Stored baselines: the scores of rules without a model on tasks of a dataset, by code version."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, select

from db.engine.bulk import insert_into
from db.engine.connection import now
from db.models import BaselineRow, Item
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import DatabaseFailure, SpecError
from lumos_queue.records import Origin

AT_ONCE = 10_000  #: keys of tasks read at once
WAITS = 200  #: milliseconds to wait for SQLite's write lock; stored baselines only save time


def tasks_of(connection: Connection, job: StoredJob) -> str:
    """Describe the tasks of a job (its row) within its dataset. Jobs on the same tasks have the same description.

    A job on the dataset's first rows needs no query. For a job that continues another job, that was submitted for
    selected tasks, or that an import made, the keys of the tasks are read.
    """
    if job.parent is None and not job.chosen and job.origin in (Origin.RUN, Origin.DERIVED):
        return f"first {job.items // max(1, job.spec.get('infer', job.spec).get('samples', 1))}"
    keys, count = hashlib.sha256(), 0
    query = select(Item.task).where(Item.job == job.id, Item.sample == 0).order_by(Item.ordinal)
    for task in connection.execute(query.execution_options(yield_per=AT_ONCE)).scalars():
        keys.update(b"%d " % (task or 0))
        count += 1
    return f"{count} with the keys {keys.hexdigest()}"


def load_baselines(
    connection: Connection, dataset: str, tasks: str, code_version: str
) -> dict[str, dict[str, Any]] | None:
    """Return the stored baselines; None if none are stored for these tasks and this code version."""
    query = select(BaselineRow.found).where(
        BaselineRow.dataset == dataset, BaselineRow.tasks == tasks, BaselineRow.code_version == code_version
    )
    return connection.execute(query).scalar()


def keep_baselines(
    connection: Connection, dataset: str, tasks: str, code_version: str, scores: Mapping[str, object]
) -> None:
    """Store baselines in their own transaction. Do nothing if the database cannot be written now."""
    row = {"dataset": dataset, "tasks": tasks, "code_version": code_version, "found": scores, "computed_at": now()}
    engine = connection.engine.execution_options(lumos_write=True)
    refusals = suppress(DatabaseFailure, SpecError)  # read-only, locked, or the dataset is gone
    with refusals, engine.connect() as writer, _shorten_wait(writer), writer.begin():
        writer.execute(insert_into(writer, BaselineRow).values(row).on_conflict_do_nothing())


@contextmanager
def _shorten_wait(connection: Connection) -> Generator[None, None, None]:
    """Shorten the wait for SQLite's write lock."""
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    before = driver.execute("PRAGMA busy_timeout").fetchone()[0]
    driver.execute(f"PRAGMA busy_timeout={WAITS}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA busy_timeout={before}")
