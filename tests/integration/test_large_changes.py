"""Cancelling and resuming a job of very many items: in chunks, and whole again after being cut off. Both databases."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select, update

import db.engine.chunks
from db.engine.connection import Database, now
from db.models import Item
from db.queries.jobs import get_job
from db.queue.job_changes import cancel, finish_if_idle, remove, resume
from db.queue.schedule import find_idle_jobs, runnable_jobs
from lumos_queue.errors import SpecError
from tests.claims import claim, holder, new_job

ITEMS, ROWS = 50, 7


@pytest.fixture
def job(database, monkeypatch):
    made = new_job(database, tasks=ITEMS)
    monkeypatch.setattr(db.engine.chunks, "FIRST_ROWS", ROWS)
    monkeypatch.setattr(db.engine.chunks, "MAX_ROWS", ROWS)
    return made


@contextmanager
def changed_at_once(database: Database):
    """How many items each statement has changed."""
    found: list[int] = []

    def note(_connection, cursor, statement, *_) -> None:
        if statement.startswith("UPDATE item"):
            found.append(cursor.rowcount)

    event.listen(database.engine, "after_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine, "after_cursor_execute", note)


def between(monkeypatch, act) -> None:
    """Have `act` happen once, after the first chunk."""

    def rest(*_) -> None:
        monkeypatch.setattr(db.engine.chunks.Chunks, "rest", lambda *_: None)
        act()

    monkeypatch.setattr(db.engine.chunks.Chunks, "rest", rest)


def cut_off() -> None:
    raise KeyboardInterrupt


def items(database: Database, job: str) -> Counter:
    with database.engine.connect() as connection:
        return Counter(connection.execute(select(Item.state).where(Item.job == job)).scalars())


def state(database: Database, job: str) -> str:
    with database.engine.connect() as connection:
        return get_job(connection, job).state


def test_no_transaction_changes_more_than_a_chunk(database, job):
    with changed_at_once(database) as found:
        assert cancel(database, job) == "cancelled"
        assert items(database, job) == {"cancelled": ITEMS}
        assert resume(database, job) == "queued"
        assert items(database, job) == {"owed": ITEMS}
        with database.writer.begin() as connection:  # each owed later than now
            connection.execute(update(Item).values(not_before_at=now() + 800, deaths=1))
        assert found.pop() == ITEMS
        assert resume(database, job) == "queued"
    assert sum(found) == 3 * ITEMS and max(found) == ROWS
    assert runnable_jobs(database, ["llm"]) == [job]


def test_a_cancel_that_is_cut_off_is_completed_by_whoever_settles_the_job(database, job, monkeypatch):
    who = holder(database, job)
    between(monkeypatch, cut_off)
    with pytest.raises(KeyboardInterrupt):
        cancel(database, job)
    assert state(database, job) == "cancelling" and items(database, job) == {"cancelled": ROWS, "owed": ITEMS - ROWS}
    assert find_idle_jobs(database) == [job] and runnable_jobs(database, ["llm"]) == []
    claim(database, who, 3)  # by a process that has not heard of it
    assert finish_if_idle(database, job) == "cancelling"
    assert items(database, job) == {"cancelled": ITEMS - 3, "claimed": 3}


def test_a_resume_that_is_cut_off_is_completed_by_the_next(database, job, monkeypatch):
    cancel(database, job)
    between(monkeypatch, cut_off)
    with pytest.raises(KeyboardInterrupt):
        resume(database, job)
    assert state(database, job) == "cancelled" and items(database, job) == {"owed": ROWS, "cancelled": ITEMS - ROWS}
    assert (
        finish_if_idle(database, job) == "cancelled"
        and runnable_jobs(database, ["llm"]) == find_idle_jobs(database) == []
    )
    assert resume(database, job) == "queued" and items(database, job) == {"owed": ITEMS}


def test_a_job_that_is_being_cancelled_can_be_resumed_though_its_workers_settle_it_meanwhile(
    database, job, monkeypatch
):
    claim(database, holder(database, job), 3)
    assert cancel(database, job) == "cancelling"
    between(monkeypatch, lambda: finish_if_idle(database, job))
    assert resume(database, job) == "queued" and items(database, job) == {"owed": ITEMS - 3, "claimed": 3}


def test_a_resume_says_so_when_the_job_is_cancelled_or_removed_meanwhile(database, job, monkeypatch):
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(deaths=1))
    between(monkeypatch, lambda: cancel(database, job))
    with pytest.raises(SpecError, match="was cancelled meanwhile"):
        resume(database, job)
    assert state(database, job) == "cancelled" and items(database, job) == {"cancelled": ITEMS}
    between(monkeypatch, lambda: remove(database, job))
    with pytest.raises(SpecError, match="was removed meanwhile"):
        resume(database, job)
