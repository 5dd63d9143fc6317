"""What a job of one item costs beside its item: statements, commits, connections and waits. SQLite."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from sqlalchemy import Engine, event

import lumos_queue as lq
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.journal.buffer import Buffer
from lumos_queue.api import jobs
from workers import dispatcher

ROWS = [{"question": "What is 2 + 3?", "answer": "#### 5"}]
WARM_UP = 3  #: jobs after which each of the threads has an engine that knows all statements


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))


def run(seed: int) -> None:
    job = lq.evaluate("gsm8k", rows=ROWS, formulation="direct", solver=lambda prompt: "5", seed=seed)
    assert job.wait().state == "done"


@pytest.fixture
def counted():
    """How often each event of an engine happens: statements, commits of writers, new connections."""
    counts: Counter[str] = Counter()

    def count_statement(*_: object) -> None:
        counts["statements"] += 1

    def count_commit(_connection: object) -> None:
        counts["commits"] += 1

    def count_connection(*_: object) -> None:
        counts["connections"] += 1

    listeners = {"before_cursor_execute": count_statement, "commit": count_commit, "connect": count_connection}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    yield counts
    for name, listener in listeners.items():
        event.remove(Engine, name, listener)


def test_a_job_of_one_item_has_a_bounded_cost(counted, monkeypatch):
    """These are the numbers that it has."""
    slept: list[float] = []
    monkeypatch.setattr(dispatcher.Dispatcher, "_sleep", staticmethod(lambda stop, seconds: slept.append(seconds)))
    monkeypatch.setattr(jobs, "POLL_SECONDS", 600.0)  # a look at a job that takes long is a connection more
    monkeypatch.setattr(jobs, "MAX_POLL_SECONDS", 600.0)
    monkeypatch.setenv("LUMOS_LEASE_SECONDS", "3600")
    monkeypatch.setenv("LUMOS_FENCE_SECONDS", "3000")
    monkeypatch.setenv("LUMOS_HEARTBEAT_SECONDS", "1000")
    for seed in range(WARM_UP):
        run(seed)
    counted.clear()
    run(WARM_UP)
    assert counted["statements"] <= 88
    assert counted["commits"] <= 7 and counted["connections"] <= 4
    assert slept == []


def test_a_slice_commits_when_nothing_is_in_flight(monkeypatch):
    """A commit waits for rows of other items for so long; it must not where there is no other item."""
    monkeypatch.setenv("LUMOS_FLUSH_SECONDS", "30")
    reasons: list[str] = []
    gather = Buffer.gather

    async def gather_and_note(buffer: Buffer, seconds: float) -> None:
        await gather(buffer, seconds)
        reasons.append("nothing more will come" if buffer._full.is_set() else "the time is over")

    monkeypatch.setattr(Buffer, "gather", gather_and_note)
    run(0)
    assert reasons == ["nothing more will come"]


def test_statements_of_a_file_are_compiled_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    first = open_database(url)
    upgrade(first)
    engine = first.engine
    with open_database(url).engine.connect() as connection:
        assert connection.engine is not engine, "an engine has one owner at a time"
    first.close()
    assert engine.pool.checkedin() == 0
    again = open_database(url)
    assert again.engine is engine
    first.close()  # once more: it is not the first one's any more
    assert open_database(url).engine is not engine
    again.close()


def test_a_file_that_became_read_only_gets_another_engine(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    first = open_database(url)
    upgrade(first)
    first.close()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever the mode is
    reader = open_database(url)
    assert reader.engine is not first.engine
    with pytest.raises(lq.SpecError, match="is read-only here"), reader.writer.begin():
        pass
    reader.close()


def test_a_file_that_was_replaced_is_read_anew(tmp_path):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    first = open_database(url)
    upgrade(first)
    first.close()
    (tmp_path / "lumos.db").unlink()
    again = open_database(url)
    with again.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
    again.close()
