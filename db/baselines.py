"""Baselines that are kept: what rules without a model score on some tasks of a dataset, by the version of the code."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import SQLAlchemyError

from db.bulk import insert_into
from db.connection import now
from db.models import BaselineRow, Item
from lumos_queue.errors import SpecError

AT_ONCE = 10_000  #: keys of tasks read at once
WAITS = 200  #: milliseconds for the right to write: what is kept only saves time


def tasks_of(connection: Connection, job: Any) -> str:
    """Which tasks of its dataset a job (its row) has, in words that are the same for another job on the same ones.

    A job as it is submitted has the first rows; of one that goes on from another, or was made by an import, the tasks
    are looked at.
    """
    if job.parent is None and not job.chosen and job.origin in ("run", "derived"):
        return f"first {job.items // max(1, job.spec.get('infer', job.spec).get('samples', 1))}"
    keys, count = hashlib.sha256(), 0
    wanted = select(Item.task).where(Item.job == job.id, Item.sample == 0).order_by(Item.ordinal)
    for task in connection.execute(wanted.execution_options(yield_per=AT_ONCE)).scalars():
        keys.update(b"%d " % (task or 0))
        count += 1
    return f"{count} with the keys {keys.hexdigest()}"


def load_baselines(connection: Connection, dataset: str, tasks: str, code_version: str) -> dict[str, Any] | None:
    """What was kept; None where nothing was."""
    wanted = select(BaselineRow.found).where(
        BaselineRow.dataset == dataset, BaselineRow.tasks == tasks, BaselineRow.code_version == code_version
    )
    return connection.execute(wanted).scalar()


def keep_baselines(connection: Connection, dataset: str, tasks: str, code_version: str, found: dict[str, Any]) -> None:
    """Keep what was computed, in a transaction of its own, where the database can be written now; else nothing."""
    row = {"dataset": dataset, "tasks": tasks, "code_version": code_version, "found": found, "computed_at": now()}
    engine = connection.engine.execution_options(lumos_write=True)
    refused = suppress(SQLAlchemyError, SpecError)  # read-only, locked, or the dataset is gone
    with refused, engine.connect() as writer, _waits_shortly(writer), writer.begin():
        writer.execute(insert_into(writer, BaselineRow).values(row).on_conflict_do_nothing())


@contextmanager
def _waits_shortly(connection: Connection) -> Iterator[None]:
    """Where SQLite's one right to write is taken, waiting for it is not worth it."""
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
