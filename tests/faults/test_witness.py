"""What the fault cases trust must see what it is there to see."""

from __future__ import annotations

import os
from sqlite3 import dbapi2

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.fence import end_session
from tests.claims import claim, finish, holder, new_job
from tests.faults import witness
from tests.faults.costs import count_repetitions
from tests.faults.invariants import find_violations

WRITE = text(
    "INSERT INTO subgoal (episode, attempt, position, branch, command, number, text) "
    "VALUES (:episode, 1, :position, 0, '', 1, '')"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, monkeypatch):
    """A watched database, to which this process writes as a worker does."""
    monkeypatch.setenv("PGAPPNAME", str(os.getpid()))
    monkeypatch.setattr(dbapi2, "connect", _telling(dbapi2.connect, os.getpid))
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'lumos.db'}" if sqlite else request.getfixturevalue("postgres_url")
    opened = open_database(url)
    upgrade(opened)
    witness.install(opened)
    yield opened
    opened.close()


def _telling(connect, pid):
    def connect_and_tell(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.create_function("fault_writer", 0, pid)
        return connection

    return connect_and_tell


def _write(database, item, position: int = 0) -> None:
    with database.writer.begin() as connection:
        connection.execute(WRITE, {"episode": item.id, "position": position})


def _stale(database) -> int:
    with database.engine.connect() as connection:
        return witness.stale_rows(connection)


def _broken(database) -> set[str]:
    with database.engine.connect() as connection:
        return set(find_violations(connection, lease_seconds=60.0))


def test_a_row_of_a_live_holder_is_not_stale(database):
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who, 2)
    _write(database, items[0])
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items]))
    assert _stale(database) == 0 and _broken(database) == set()


def test_a_row_written_after_the_session_ended_is_stale(database):
    job = new_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    end_session(database, who.session)
    _write(database, item)
    assert _stale(database) == 1 and _broken(database) == {"I3 nothing was written under a stale fence"}


def test_a_row_of_an_item_that_another_process_holds_is_stale(database):
    job = new_job(database)
    (item,) = claim(database, holder(database, job), 1)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE worker_session SET pid = 1"))
    _write(database, item)
    assert _stale(database) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_session_that_ends_before_its_transaction_does_is_seen(database):
    job = new_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    with database.writer.begin() as connection:  # without the fence
        connection.execute(WRITE, {"episode": item.id, "position": 0})
        end_session(database, who.session)
    assert _stale(database) == 1


def test_each_invariant_that_is_broken_is_named(database):
    job = new_job(database, tasks=6)
    who = holder(database, job)
    items = claim(database, who, 6)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items[:4]]))
    _write_unseen(database, "DELETE FROM score WHERE episode = :item", items[0])
    _write_unseen(database, "UPDATE episode SET calls = 3, prompt_tokens = 1 WHERE id = :item", items[1])
    _write_unseen(database, "UPDATE item SET state = 'owed', session = 7 WHERE id = :item", items[2])
    _write_unseen(
        database,
        "INSERT INTO subgoal (episode, attempt, position, branch, command, number, text) "
        "VALUES (:item, 1, 1, 1, '', 1, '')",
        items[3],
    )
    _write_unseen(database, "UPDATE job SET items = 7, state = 'done' WHERE :item > 0", items[0])
    _write_unseen(database, "UPDATE worker_session SET ended_at = 1 WHERE :item > 0", items[0])
    assert {name[:2] for name in _broken(database)} == {"I1", "I2", "I3", "I4", "I5", "I6"}
    assert {name for name in _broken(database) if name[:2] != "I3"} == {
        "I1 an episode has no result before its item is done",
        "I1 an accepted result is scored once, anything else never",
        "I2 accepted steps have the positions from 0 without a gap",
        "I2 accepted steps at a position have the branches from 0 without a gap",
        "I4 an episode counts the calls of its accepted attempt",
        "I4 an episode counts the prompt tokens of its accepted attempt",
        "I4 a job counts its items",
        "I5 who holds an item is a live session",
        "I5 no session holds an item that is not claimed",
        "I5 a job that is over has nothing to do",
        "I6 kept sums are those of the rows",
    }


def _write_unseen(database, statement: str, item) -> None:
    with database.writer.begin() as connection:
        connection.execute(text(statement), {"item": item.id})


def test_a_call_after_its_reply_was_stored_counts_as_repeated(database):
    with database.writer.begin() as connection:
        connection.execute(text("INSERT INTO fault_recorded VALUES ('a', 10.0), ('b', 20.0)"))
        calls = [{"sha256": name, "time": at} for name, at in (("a", 9.0), ("a", 11.0), ("b", 19.0), ("c", 30.0))]
        assert count_repetitions(connection, calls) == 1
