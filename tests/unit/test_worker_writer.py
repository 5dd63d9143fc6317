"""Commits of a slice on SQLite: rows that the database refuses, and commits that are sent again."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, text

import workers.writer
from db.engine.rows.steps import NewAttempt
from db.models import Attempt, EpisodeRow, Item
from db.queries.jobs import get_job
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import NO_CLAIM, ClaimedItem, ClaimRequest, LeaseHolder
from db.queue.commit import commit
from db.queue.fence import Fenced
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable
from lumos_queue.settings import Settings
from tests.claims import finish, new_job
from workers.session import WorkerSession
from workers.writer import MAX_CLAIMS, MAX_WAIT, MIN_WAIT, CommitRefused, CommitWriter

QUIET = Settings(heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0)
AWAY = DatabaseUnavailable("away")


@pytest.fixture
def session(database):
    session = WorkerSession(database, QUIET, "1")
    yield session
    session.close()


@pytest.fixture
def writer(database, session):
    """The writer of a slice on a job of six items."""
    job = new_job(database, tasks=6)
    with database.engine.connect() as connection:
        writer = CommitWriter(session, get_job(connection, job))
    yield writer
    writer.close()


@pytest.fixture
def waits(monkeypatch):
    """The waits before commits that are sent again; they take no time."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(workers.writer, "asyncio", SimpleNamespace(sleep=sleep))
    return waits


def claim(writer: CommitWriter, count: int) -> list[ClaimedItem]:
    return list(asyncio.run(writer.commit(Batch({}), ClaimRequest(count))).claimed)


def end(items: list[ClaimedItem], **options) -> Batch:
    """Return the batch that ends all these items."""
    return Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items], **options)


def refuse(database, *ordinals: int) -> None:
    """Let the database refuse the scores of these items of the job."""
    numbers = ", ".join(map(str, ordinals))
    with database.writer.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER refusing BEFORE INSERT ON score "
                f"WHEN NEW.episode IN (SELECT id FROM item WHERE ordinal IN ({numbers})) "
                "BEGIN SELECT RAISE(ABORT, 'out of range'); END"
            )
        )


def read_items(database) -> dict[int, tuple[str, str]]:
    """Return the state and the message of each item, by its ordinal."""
    with database.engine.connect() as connection:
        rows = connection.execute(
            select(Item.ordinal, Item.state, EpisodeRow.message).outerjoin(EpisodeRow, EpisodeRow.id == Item.id)
        )
        return {row.ordinal: (row.state, row.message) for row in rows}


DONE = ("done", "")
REFUSED = ("done", "the database refuses its rows: out of range")


def test_a_commit_ends_items_and_claims_the_next(database, writer):
    items = claim(writer, 2)
    result = asyncio.run(writer.commit(end(items), ClaimRequest(3)))
    assert [item.ordinal for item in result.claimed] == [2, 3, 4] and result.refused == {}
    assert [read_items(database)[ordinal] for ordinal in (0, 1)] == [DONE] * 2


def test_items_whose_rows_are_refused_end_and_the_others_are_written(database, writer, caplog):
    items = claim(writer, 5)
    refuse(database, 1, 4)
    result = asyncio.run(writer.commit(end(items), ClaimRequest(3)))
    assert result.refused == dict.fromkeys((items[1].id, items[4].id), "out of range")
    assert [item.ordinal for item in result.claimed] == [5], "the claim is not lost"
    stored = read_items(database)
    assert [stored[ordinal] for ordinal in range(5)] == [DONE, REFUSED, DONE, DONE, REFUSED]
    assert caplog.messages == [
        "a commit was refused, looking for the rows to blame: out of range",
        *(f"item {items[ordinal].id} ends: the database refuses its rows: out of range" for ordinal in (1, 4)),
    ]
    assert not caplog.records[0].exc_info, "the failure of a database needs no traceback"


def test_a_commit_without_a_claim_claims_nothing_after_a_refusal(database, writer):
    items = claim(writer, 2)
    refuse(database, 1)
    result = asyncio.run(writer.commit(end(items), NO_CLAIM))
    assert (list(result.claimed), list(result.refused)) == ([], [items[1].id])
    assert read_items(database)[2][0] == "owed"


def test_a_value_that_no_database_stores_is_logged_with_its_traceback(database, writer, caplog):
    items = claim(writer, 2)
    batch = end(items, rows={NewAttempt: [NewAttempt(items[0].id, 2, "\ud800")]})
    result = asyncio.run(writer.commit(batch, NO_CLAIM))
    assert list(result.refused) == [items[0].id] and read_items(database)[1] == DONE
    assert caplog.records[0].exc_info and "UnicodeEncodeError" in caplog.messages[0]


@pytest.mark.parametrize("count", [2, 3])
def test_a_database_that_refuses_all_items_of_a_commit_charges_none(database, writer, count):
    items = claim(writer, count)
    refuse(database, 0, 1, 2)
    with pytest.raises(CommitRefused, match=r"^no item's rows are taken: out of range$"):
        asyncio.run(writer.commit(end(items), NO_CLAIM))
    assert {read_items(database)[ordinal][0] for ordinal in range(count)} == {"claimed"}


def test_a_single_item_that_is_refused_first_is_not_charged(database, writer):
    items = claim(writer, 1)
    refuse(database, 0)
    with pytest.raises(CommitRefused):
        asyncio.run(writer.commit(end(items), NO_CLAIM))
    assert read_items(database)[0][0] == "claimed"


@pytest.mark.parametrize("writes", ["result", "row"])
def test_a_single_item_ends_if_the_slice_has_written_before(database, writer, writes):
    items = claim(writer, 2)
    refuse(database, 1)
    if writes == "result":
        asyncio.run(writer.commit(end(items[:1]), NO_CLAIM))
    else:
        row = NewAttempt(items[0].id, 2, "1")
        asyncio.run(writer.commit(Batch({items[0].id: 1}, rows={NewAttempt: [row]}), NO_CLAIM))
        with database.engine.connect() as connection:
            assert (items[0].id, 2) in connection.execute(select(Attempt.episode, Attempt.number)).all()
    result = asyncio.run(writer.commit(end(items[1:]), NO_CLAIM))
    assert list(result.refused) == [items[1].id] and read_items(database)[1] == REFUSED


def test_a_single_item_ends_if_it_was_claimed_often_enough(database, writer):
    refuse(database, 0)
    for count in range(1, MAX_CLAIMS):
        (item,) = claim(writer, 1)
        assert item.claim == count
        with pytest.raises(CommitRefused):
            asyncio.run(writer.commit(end([item]), NO_CLAIM))
        asyncio.run(writer.commit(Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]), NO_CLAIM))
    (item,) = claim(writer, 1)
    assert item.claim == MAX_CLAIMS == 3
    assert list(asyncio.run(writer.commit(end([item]), NO_CLAIM)).refused) == [item.id]
    assert read_items(database)[0] == REFUSED


def test_an_end_that_is_refused_too_is_an_error_of_the_commit(database, writer, monkeypatch):
    items = claim(writer, 2)
    refuse(database, 1)

    def fail(*_: object) -> None:
        raise ValueError("a bug\nof ours")

    monkeypatch.setattr(workers.writer, "end_refused", fail)
    with pytest.raises(CommitRefused, match=r"^ValueError: a bug$"):
        asyncio.run(writer.commit(end(items), NO_CLAIM))


@pytest.mark.parametrize("step", ["commit", "end_refused"])
def test_a_failure_of_the_database_that_is_not_due_to_rows_is_passed_on(database, writer, monkeypatch, step):
    items = claim(writer, 2)
    refuse(database, 1)

    def fail(*_: object) -> None:
        raise DatabaseFailure("no such table")

    monkeypatch.setattr(workers.writer, step, fail)
    with pytest.raises(DatabaseFailure) as failure:
        asyncio.run(writer.commit(end(items), NO_CLAIM))
    assert failure.value.reason == "no such table"


def test_a_failure_while_a_refused_commit_is_split_is_passed_on(database, writer, monkeypatch):
    items = claim(writer, 2)
    refuse(database, 1)
    commits = []

    def fail_at_third(*arguments: Any) -> list[ClaimedItem]:
        commits.append(arguments)
        if len(commits) == 3:
            raise DatabaseFailure("no such table")
        return commit(*arguments)

    monkeypatch.setattr(workers.writer, "commit", fail_at_third)
    with pytest.raises(DatabaseFailure, match="no such table"):
        asyncio.run(writer.commit(end(items), NO_CLAIM))


def interrupt(monkeypatch, times: int) -> list[str]:
    """Let the first commits be stored without an answer. Return the names of all calls that write."""
    calls: list[str] = []
    release_strays = workers.writer.release_strays

    def interrupted(*arguments: Any) -> list[ClaimedItem]:
        calls.append("commit")
        items = commit(*arguments)
        if calls.count("commit") <= times:
            raise AWAY
        return items

    def release(*arguments: Any) -> None:
        calls.append("release")
        release_strays(*arguments)

    monkeypatch.setattr(workers.writer, "commit", interrupted)
    monkeypatch.setattr(workers.writer, "release_strays", release)
    return calls


def test_a_commit_is_sent_again_after_longer_and_longer_waits(database, writer, waits, monkeypatch, caplog):
    calls = interrupt(monkeypatch, 7)
    (item,) = claim(writer, 1)
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0] and (MIN_WAIT, MAX_WAIT) == (0.1, 2.0)
    assert caplog.messages == ["commit interrupted, trying again: away"] * 7
    assert calls == ["commit", *["release", "commit"] * 7, "release"]
    assert item.ordinal == 0 and item.claim == 8
    assert [state for state, _ in read_items(database).values()].count("claimed") == 1


def test_a_commit_that_is_answered_at_once_releases_nothing(writer, waits, monkeypatch):
    calls = interrupt(monkeypatch, 0)
    claim(writer, 2)
    assert (calls, waits) == (["commit"], [])


def test_items_that_are_held_stay_held_when_a_commit_is_sent_again(database, writer, waits, monkeypatch):
    held, given_back, ended = claim(writer, 3)
    calls = interrupt(monkeypatch, 1)
    batch = Batch(
        {item.id: item.claim for item in (held, given_back, ended)},
        finished=[finish(ended)],
        given_back=[ReturnedItem(given_back.id)],
    )
    result = asyncio.run(writer.commit(batch, ClaimRequest(2)))
    assert calls == ["commit", "release", "commit", "release"]
    claimed = {item.ordinal for item in result.claimed}
    stored = {ordinal for ordinal, (state, _) in read_items(database).items() if state == "claimed"}
    assert stored == claimed | {held.ordinal} and len(claimed) == 2 and held.ordinal not in claimed


def test_a_process_that_may_write_no_more_does_not_try_again(writer, session, waits, monkeypatch, caplog):
    calls = interrupt(monkeypatch, 5)
    session.declare_lost()
    with pytest.raises(Fenced, match=r"^the database could not be written for too long$") as failure:
        claim(writer, 1)
    assert (calls, waits, caplog.messages) == (["commit"], [], []) and failure.value.__cause__ is AWAY


def run_on(writer: CommitWriter, function: Callable[..., Any]) -> Any:
    coroutine: Coroutine[Any, Any, Any] = writer._run(function, "argument")
    return asyncio.run(coroutine)


def test_a_server_is_written_to_from_another_thread_and_a_file_from_the_loop(database, session, writer):
    def name_thread(*arguments: Any) -> tuple[str, bool, tuple]:
        thread = threading.current_thread()
        return thread.name, thread is threading.main_thread(), arguments

    assert run_on(writer, name_thread) == ("MainThread", True, (database, writer._holder, "argument"))
    server = SimpleNamespace(id=7, code_version="1", database=SimpleNamespace(is_sqlite=False))
    server_writer = CommitWriter(server, writer._holder.job)
    holder = LeaseHolder(7, "1", writer._holder.job)
    assert run_on(server_writer, name_thread) == ("database_0", False, (server.database, holder, "argument"))
    server_writer.close()
    with pytest.raises(RuntimeError):
        run_on(server_writer, name_thread)


def test_the_log_of_a_refused_commit_is_a_warning_and_that_of_an_item_an_error(database, writer, caplog):
    items = claim(writer, 2)
    refuse(database, 1)
    asyncio.run(writer.commit(end(items), NO_CLAIM))
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR]
