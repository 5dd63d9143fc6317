"""A job of very many rows is stored in chunks: fair to others, and whole or not there at all. SQLite and PostgreSQL."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import func, select, update

import db.engine.chunks
import db.queue.removal
from db.engine.chunks import Chunks
from db.engine.connection import Database, open_database
from db.models import Dataset, EpisodeRow, Heartbeat, Item, JobRow, TaskRow
from db.queries.filters import Filter
from db.queries.job_list import page_of_jobs
from db.queries.jobs import get_job, jobs_of_kind
from db.queue.fence import beat, start_session
from db.queue.job_changes import cancel, pause, remove
from db.queue.schedule import find_idle_jobs, runnable_jobs
from lumos_queue.errors import SpecError
from tests.claims import claim, holder, new_job
from tests.forked_commands import Forked
from tests.services import wait_until

CHUNK = 300  #: rows
MANY = 3000  #: tasks: chunks enough to be seen, stopped and killed between them
Rest = Callable[[Chunks, float], None]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(db.engine.chunks, "FIRST_ROWS", CHUNK)
    monkeypatch.setattr(db.engine.chunks, "MAX_ROWS", CHUNK)


def submit(database: Database, tasks: int, digest: str = "ab", rest: Rest | None = None, go: Path | None = None):
    """Begin to submit in a process; `rest` is called between two chunks. It begins when the file `go` is there."""
    return Forked(store, database.url, tasks, digest * 32, rest, go)


def store(url: str, tasks: int, digest: str, rest: Rest | None, go: Path | None) -> None:
    db.engine.chunks.FIRST_ROWS = db.engine.chunks.MAX_ROWS = CHUNK
    if rest is not None:
        Chunks.rest = rest
    if go is not None:
        wait_until(go.exists, "the file is there", every=0.001)
    print(new_job(open_database(url), tasks=tasks, digest=digest))


def rest_until_a_report(chunks: Chunks, seconds: float) -> None:
    """Another process can write now; its report is what this one waits for."""
    before = last_report(chunks.database)
    wait_until(lambda: last_report(chunks.database) != before, "a worker reports", 60, 0.01)
    print("rested")


def tell_rest(chunks: Chunks, seconds: float) -> None:
    print("rested")


def stop_at_third_rest(chunks: Chunks, seconds: float) -> None:
    print("rested")
    store.rests = getattr(store, "rests", 0) + 1
    while store.rests >= 3:
        time.sleep(60)


def last_report(database: Database) -> float | None:
    with database.engine.connect() as connection:
        return connection.execute(select(func.max(Heartbeat.at))).scalar()


def submitted(process: Forked) -> str:
    assert process.wait(120) == 0, process.err
    return process.out.split()[-1]


def kill_at_third_rest(database: Database) -> None:
    process = submit(database, MANY, rest=stop_at_third_rest)
    wait_until(lambda: process.out.count("rested") == 3 or process.poll() is not None, "three chunks are stored", 60)
    process.kill()
    assert 0 < rows(database, TaskRow) < MANY


def whole(database: Database, job: str, tasks: int, samples: int = 1) -> None:
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        assert (row.state, row.items) == ("queued", tasks * samples)
        found = connection.execute(
            select(func.count(), func.count(Item.ordinal.distinct()), func.max(Item.ordinal)).where(Item.job == job)
        ).one()
        assert tuple(found) == (tasks * samples, tasks * samples, tasks * samples - 1)
        stored = connection.execute(select(Dataset.complete, Dataset.rows).where(Dataset.digest == row.dataset)).one()
        assert tuple(stored) == (True, tasks)
        counted = select(func.count()).where(TaskRow.dataset == row.dataset)
        assert connection.execute(counted).scalar_one() == tasks
    assert runnable_jobs(database, ["llm"]) == [job]


def states(database: Database) -> Counter:
    with database.engine.connect() as connection:
        return Counter(connection.execute(select(JobRow.state)).scalars())


def beat_until(database: Database, over: Callable[[], bool]) -> None:
    """Report as a worker does, though more often."""
    session = start_session(database, "1")
    while not over():
        beat(database, session, [], {})
        time.sleep(0.01)


def test_who_works_beside_a_large_submit_is_not_kept_from_reporting(database):
    process = submit(database, MANY, rest=rest_until_a_report)
    beat_until(database, lambda: process.poll() is not None)
    whole(database, submitted(process), MANY)
    assert process.out.count("rested") >= MANY // CHUNK


def test_who_works_beside_the_removal_of_a_large_job_is_not_kept_from_reporting(database, monkeypatch):
    job = new_job(database, tasks=MANY)
    cancel(database, job)
    rests = []

    def rest(chunks: Chunks, seconds: float) -> None:
        rest_until_a_report(chunks, seconds)
        rests.append(seconds)

    monkeypatch.setattr(Chunks, "rest", rest)
    removal = threading.Thread(target=remove, args=(database, job))
    removal.start()
    beat_until(database, lambda: not removal.is_alive())
    assert len(rests) >= MANY // CHUNK
    for table in (JobRow, Item, TaskRow, Dataset):
        assert rows(database, table) == 0


def test_a_submit_that_is_killed_leaves_nothing_to_be_seen_and_the_next_one_stores_all(database):
    pick = random.Random(3)
    for _ in range(4):
        process = submit(database, MANY, rest=tell_rest)
        wait_until(lambda process=process: process.out or process.poll() is not None, "a chunk is stored", 60, 0.001)
        time.sleep(pick.uniform(0.0, 0.05))  # at any instant
        process.kill()
        if states(database)["queued"]:
            break
        with database.engine.connect() as connection:
            assert page_of_jobs(connection, Filter(), "", 9) == jobs_of_kind(connection, "evaluate") == []
            for job in connection.execute(select(JobRow.id)).scalars():
                with pytest.raises(SpecError, match="No job has an id"):
                    get_job(connection, job)
        assert runnable_jobs(database, ["llm"]) == find_idle_jobs(database) == []
        with database.writer.begin() as connection:  # as if it had been silent for long
            connection.execute(update(JobRow).values(not_before_at=0.0))
    whole(database, new_job(database, tasks=MANY), MANY)
    assert states(database) == {"queued": 1}


def test_another_request_does_not_see_a_dataset_that_is_half_stored(database):
    """The one that was killed had stored the first tasks; the next job on them, of a few, completes them."""
    kill_at_third_rest(database)
    assert states(database) == {"submitting": 1}
    job = new_job(database, tasks=MANY, digest="cd" * 32, limit=3)
    with database.engine.connect() as connection:
        assert get_job(connection, job).items == 3
        assert connection.execute(select(Dataset.complete)).scalars().all() == [True]
    assert rows(database, TaskRow) == MANY


def submit_two_at_once(database: Database, folder: Path, digests: tuple[str, str]) -> list[str]:
    go = folder / "go"
    processes = [submit(database, MANY, digest, go=go) for digest in digests]
    go.touch()
    return [submitted(process) for process in processes]


def test_the_same_request_twice_at_once_is_one_job(database, tmp_path):
    first, second = submit_two_at_once(database, tmp_path, ("ab", "ab"))
    assert first == second
    whole(database, first, MANY)


def test_two_requests_for_the_same_dataset_at_once_are_both_whole(database, tmp_path):
    first, second = submit_two_at_once(database, tmp_path, ("ab", "cd"))
    assert first != second and states(database) == {"queued": 2}
    assert rows(database, TaskRow) == MANY and rows(database, Item) == 2 * MANY


def test_what_a_killed_submit_left_is_removed_by_the_next_of_any_request(database):
    kill_at_third_rest(database)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(not_before_at=0.0))
    job = new_job(database, tasks=0, windows=3, digest="cd" * 32)
    assert states(database) == {"queued": 1} and rows(database, TaskRow) == rows(database, Dataset) == 0
    assert runnable_jobs(database, ["llm"]) == [job]


def test_a_job_that_is_removed_while_it_is_stored_says_so(database, monkeypatch):
    def take(*_) -> None:
        with database.writer.begin() as connection:
            connection.execute(update(JobRow).values(not_before_at=0.0))
        db.queue.removal.remove_leftovers(database)

    monkeypatch.setattr(db.engine.chunks.Chunks, "rest", take)
    with pytest.raises(SpecError, match="was removed while it was being stored: submit it again"):
        new_job(database, tasks=MANY)
    assert rows(database, JobRow) == rows(database, TaskRow) == 0


def test_a_submit_that_fails_half_way_leaves_nothing(database, monkeypatch):
    def fail(*_) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(db.engine.chunks.Chunks, "rest", fail)
    with pytest.raises(KeyboardInterrupt):
        new_job(database, tasks=MANY)
    assert rows(database, JobRow) == rows(database, TaskRow) == 0


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)  # PostgreSQL has no one lock for all writers
def test_others_have_as_long_as_a_chunk_takes_where_somebody_works(database, monkeypatch):
    """And a quarter of that where nobody does."""
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=0.0)
    monkeypatch.setattr(db.engine.chunks, "time", clock)
    monkeypatch.setattr(db.engine.chunks, "SECONDS", 10.0)  # however slow, a chunk has as many rows
    rested: list[float] = []
    monkeypatch.setattr(Chunks, "rest", lambda _, seconds: rested.append(seconds))
    touch = Chunks.touch

    def slow(self, *arguments, **options):
        touch(self, *arguments, **options)
        clock.now += 0.2

    monkeypatch.setattr(Chunks, "touch", slow)
    new_job(database, tasks=3 * CHUNK)
    assert len(rested) >= 3 and max(rested) == pytest.approx(0.05)
    rested.clear()
    beat(database, start_session(database, "1"), [], {})
    new_job(database, tasks=3 * CHUNK, digest="cd" * 32, again=True)
    assert len(rested) >= 2 and min(rested) == pytest.approx(0.2)


def test_samples_and_limits_of_a_large_job_are_those_of_a_small_one(database, monkeypatch):
    small = new_job(database, tasks=50, samples=3, limit=40)
    monkeypatch.setattr(db.engine.chunks, "FIRST_ROWS", 7)
    large = new_job(database, tasks=50, samples=3, limit=40, digest="cd" * 32)
    with database.engine.connect() as connection:
        listed = [
            connection.execute(
                select(Item.ordinal, Item.task, Item.sample, Item.state).where(Item.job == job).order_by(Item.ordinal)
            ).all()
            for job in (small, large)
        ]
    assert listed[0] == listed[1] and len(listed[0]) == 120


def test_removing_keeps_the_tasks_that_another_job_works_on(database, monkeypatch):
    monkeypatch.setattr(db.engine.chunks, "FIRST_ROWS", 3)
    first, second = new_job(database, tasks=20), new_job(database, tasks=20, digest="cd" * 32)
    claim(database, holder(database, first), 5)
    pause(database, first)
    remove(database, first)
    assert rows(database, TaskRow) == 20 and rows(database, Item) == 20 and rows(database, EpisodeRow) == 0
    whole(database, second, 20)


def rows(database: Database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()
