"""Baselines are computed once for a job's tasks and a version of the code, and then read. SQLite and PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import delete, event, select, update

import lumos_queue.reports.baselines as module
from db.engine.connection import Database, open_database
from db.models import BaselineRow, Item, JobRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from lumos_queue.reports.baselines import load_or_compute_baselines
from lumos_queue.reports.json_values import as_json
from tests.claims import new_job

GSM8K = open_benchmark("gsm8k")
TASKS = tuple(
    Task(
        "gsm8k",
        "data",
        str(number),
        f"Ida sold {number} tarts and 3 pies. How many?",
        {},
        {"answer": str(number + 3 * (number % 2)), "solution": ""},
    )
    for number in range(20)
)


class Reader:
    """A report's connection, and how often the rows of tasks were read over it."""

    def __init__(self, database: Database):
        self.database, self.reads = database, 0
        event.listen(database.engine, "before_cursor_execute", self._count)

    def _count(self, _connection, _cursor, statement: str, *_: object) -> None:
        self.reads += "task.question" in statement

    def baselines(self, job: str) -> dict:
        with self.database.engine.connect() as connection:
            return as_json(load_or_compute_baselines(connection, get_job(connection, job), GSM8K))


def kept(database: Database) -> list:
    with database.engine.connect() as connection:
        return list(connection.execute(select(BaselineRow.tasks, BaselineRow.code_version, BaselineRow.found)))


def test_they_are_computed_once_and_then_read_without_a_task(database):
    job, reader = new_job(database, rows=TASKS), Reader(database)
    first = reader.baselines(job)
    assert reader.reads == 1 and first["sum of first two"]["value"] == 0.5
    assert reader.baselines(job) == first and reader.reads == 1
    other = new_job(database, rows=TASKS, digest="cd" * 32, samples=3)  # the same tasks, more often
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == other).values(spec={"infer": {"samples": 3}}))
    assert reader.baselines(other) == first and reader.reads == 1 and len(kept(database)) == 1


def test_fewer_tasks_are_other_ones(database):
    whole, few = new_job(database, rows=TASKS), new_job(database, rows=TASKS, digest="cd" * 32, limit=1)
    reader = Reader(database)
    assert reader.baselines(whole)["sum of first two"]["value"] == 0.5
    assert reader.baselines(few)["sum of first two"]["value"] == 0.0
    assert len(kept(database)) == 2 and reader.reads == 2


def test_tasks_that_a_filter_chose_are_told_by_their_keys(database):
    """Two jobs of ten tasks each on one dataset, of which each has other ones."""
    jobs = [new_job(database, rows=TASKS, digest=name * 32) for name in ("ab", "cd")]
    with database.writer.begin() as connection:
        for rest, job in enumerate(jobs):
            connection.execute(delete(Item).where(Item.job == job, Item.ordinal % 2 != rest))
    reader = Reader(database)
    found = []
    for job in jobs * 2:
        row = SimpleNamespace(
            id=job,
            items=10,
            dataset="data",
            benchmark="gsm8k",
            parent="aaaaaaaa",
            chosen="score<1",
            origin="run",
            spec={},
        )
        with database.engine.connect() as connection:
            found.append(load_or_compute_baselines(connection, row, GSM8K)["sum of first two"].value)
    assert found == [0.0, 1.0, 0.0, 1.0] and reader.reads == 2


def test_another_version_of_the_code_computes_its_own(database, monkeypatch):
    job, reader = new_job(database, rows=TASKS), Reader(database)
    first = reader.baselines(job)
    monkeypatch.setattr(module, "code_version", lambda: "2")
    assert reader.baselines(job) == first and reader.reads == 2
    assert sorted(row.code_version == "2" for row in kept(database)) == [False, True]


def test_two_that_compute_at_once_keep_one_row(database, monkeypatch):
    job, reader = new_job(database, rows=TASKS), Reader(database)
    monkeypatch.setattr(module, "load_baselines", lambda *_: None)  # each looked before the other had kept its own
    assert reader.baselines(job) == reader.baselines(job) and len(kept(database)) == 1


def test_a_report_does_not_wait_for_a_writer(database):
    """What another process holds the lock for is not waited for: the baselines are told, and not kept."""
    job, reader = new_job(database, rows=TASKS), Reader(database)
    if not database.is_sqlite:
        pytest.skip("PostgreSQL has no one lock for all writers")
    with database.writer.begin():
        assert reader.baselines(job)["sum of first two"]["value"] == 0.5
    assert kept(database) == []
    with database.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000


def test_a_database_that_can_only_be_read_is_reported_as_well(database, tmp_path, monkeypatch):
    job = new_job(database, rows=TASKS)
    if database.is_sqlite:
        database.close()
        Path(tmp_path / "lumos.db").chmod(0o400)
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever the mode is
        opened = open_database(database.url)
    else:
        opened = database
        with database.engine.connect() as connection:
            name = connection.exec_driver_sql("SELECT current_database()").scalar()
            connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
            connection.commit()
        database.engine.dispose()
    reader = Reader(opened)
    assert reader.baselines(job) == reader.baselines(job) and reader.reads == 2
    assert kept(opened) == []
    opened.close()
