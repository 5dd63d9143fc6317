"""Many rows in many short transactions: how large the next one is, who gets in between, where it stops."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select, update

from db.engine.chunks import FIRST_ROWS, IDLE_REST, MAX_ROWS, Chunks
from db.engine.connection import Database
from db.models import Item, JobRow
from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.fence import start_session
from db.queue.sweep import change_items
from lumos_queue.errors import SpecError
from tests.claims import claim, holder, new_job


def took(chunks: Chunks, seconds: float) -> int:
    """Rows of the next chunk after a transaction that held the lock for so long."""
    with chunks.transaction():
        time.sleep(seconds)
    return chunks.rows


def test_a_chunk_is_as_large_as_the_last_one_was_quick(database):
    chunks = Chunks(database)
    assert chunks.rows == FIRST_ROWS
    slower = took(chunks, 0.2)
    assert FIRST_ROWS / 5 < slower <= FIRST_ROWS / 2
    assert slower < took(chunks, 0.0) <= 2 * slower, "at most twice as large"
    for _ in range(5):
        took(chunks, 0.0)
    assert chunks.rows == MAX_ROWS, "and no larger than this"
    chunks.rows = 1
    assert took(chunks, 0.15) == 1, "no smaller than one"
    assert chunks.longest >= 0.2


@pytest.mark.parametrize("works", [True, False])
def test_on_sqlite_others_have_their_turn_before_the_next_chunk(database: Database, works: bool, monkeypatch):
    """For as long as the lock was held where a worker reports, else for a quarter of it."""
    if works:
        start_session(database, "1")
    asked: list[float] = []
    monkeypatch.setattr(Chunks, "rest", lambda self, seconds: asked.append(seconds))
    chunks = Chunks(database)
    took(chunks, 0.2)
    took(chunks, 0.0)
    most = chunks.longest if works and database.is_sqlite else chunks.longest * IDLE_REST
    assert len(asked) == 1 and most - 0.1 < asked[0] <= most + 0.01


def test_a_job_is_touched_in_the_state_in_which_one_is_at_work_on_it(database):
    job = new_job(database)
    chunks = Chunks(database)
    with database.writer.begin() as connection:
        chunks.touch(connection, job, "queued")
        with pytest.raises(SpecError, match="removed while it was being stored"):
            chunks.touch(connection, job)


class EqualChunks(Chunks):
    """As large each time."""

    def __init__(self, database: Database, size: int):
        self.size = size
        super().__init__(database)

    rows = property(lambda self: self.size, lambda self, rows: None)


def swept(database, job: str, rows: int, look=lambda connection: True) -> tuple[int, list[int]]:
    """The ordinal below which the caller has to do the rest, and the ordinals of the items changed so far."""
    chunks = EqualChunks(database, rows)
    below = change_items(chunks, job, Item.state == "owed", {"state": "cancelled"}, look)
    with database.engine.connect() as connection:
        changed = select(Item.ordinal).where(Item.job == job, Item.state == "cancelled").order_by(Item.ordinal)
        return below, list(connection.execute(changed).scalars())


def test_items_are_changed_from_the_last_one_down_to_a_last_chunk(database):
    job = new_job(database, tasks=20)
    claim(database, holder(database, job), 2)
    assert swept(database, job, 7) == (6, list(range(6, 20))), "the first that is owed is the third"
    assert swept(database, new_job(database, tasks=20, digest="cd" * 32), 20) == (20, [])
    assert swept(database, new_job(database, tasks=20, digest="ef" * 32), 19) == (1, list(range(1, 20)))
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job).values(state="done"))
    assert swept(database, job, 7) == (0, [])


def test_it_stops_where_the_job_is_no_longer_to_be_changed(database):
    job, looks = new_job(database, tasks=20), []

    def look(connection) -> bool:
        looks.append(connection.execute(select(JobRow.state)).scalar_one())
        return len(looks) < 2

    assert swept(database, job, 5, look) == (15, list(range(15, 20)))
    assert len(looks) == 2


def test_a_number_that_is_none_is_refused_before_it_is_stored(database):
    """JSON has no word for it, and SQLite would take it all the same."""
    job = new_job(database, tasks=0, windows=1, kind="train")
    who = holder(database, job)
    (item,) = claim(database, who)
    with pytest.raises(ValueError, match="JSON"):
        commit(
            database, who, Batch({item.id: item.claim}, finished=[FinishedItem(item.id, output={"loss": float("nan")})])
        )
