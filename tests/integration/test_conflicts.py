"""Transactions that PostgreSQL ends because two of them wait for each other: a removal is repeated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text, update

from db.engine.chunks import MAX_CONFLICTS, Chunks
from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.kinds.states import ItemState
from db.models import Item, JobRow
from db.queue.job_changes import remove
from lumos_queue.errors import TransactionConflict
from tests.scored_jobs import create_scored_job
from tests.services import wait_until

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@pytest.fixture
def database(postgres_url):
    opened = open_database(postgres_url)
    upgrade(opened)
    yield opened
    opened.close()


def count_waiting(database: Database) -> int:
    with database.engine.connect() as connection:
        return connection.execute(text(WAITING)).scalar_one()


def test_a_removal_that_a_worker_crosses_is_repeated(database):
    job = create_scored_job(database, [[1], [0]])
    with database.engine.connect() as connection:
        items = connection.execute(select(Item.id).where(Item.job == job).order_by(Item.ordinal)).scalars().all()
    with ThreadPoolExecutor(1) as pool:
        with database.writer.begin() as worker:
            lock_item = update(Item).values(state=ItemState.DONE)
            worker.execute(lock_item.where(Item.id == items[1]))
            removal = pool.submit(remove, database, job)
            wait_until(lambda: count_waiting(database), "the removal waits for the worker")
            worker.execute(lock_item.where(Item.id == items[0]))  # returns when PostgreSQL has ended the removal
        removal.result(timeout=60)
    with database.engine.connect() as connection:
        assert connection.execute(select(JobRow.id).where(JobRow.id == job)).first() is None


def test_a_conflict_that_stays_is_raised(database):
    attempts = []

    def fail(connection: object) -> None:
        attempts.append(threading.get_ident())
        raise TransactionConflict("40P01 deadlock detected")

    with pytest.raises(TransactionConflict):
        Chunks(database).run(fail)
    assert len(attempts) == MAX_CONFLICTS + 1
