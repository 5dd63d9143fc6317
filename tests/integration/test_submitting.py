"""A job of very many rows is stored in chunks: fair to others, and whole or not there at all. SQLite and PostgreSQL."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

import db.chunks
import db.removal
from db.connection import Database
from db.fence import beat, start_session
from db.filters import Filter
from db.job_list import page_of_jobs
from db.jobs import cancel, get_job, pause, remove
from db.models import Dataset, EpisodeRow, Item, JobRow, TaskRow
from db.reading import jobs_of_kind
from db.schedule import find_idle_jobs, runnable_jobs
from lumos_queue.errors import SpecError
from tests.claims import claim, holder, new_job

ROOT = Path(__file__).resolve().parents[2]
MANY = 40_000
SUBMIT = """
import sys
from db.connection import open_database
from tests.claims import new_job
print("ready", flush=True)
print(new_job(open_database(sys.argv[1]), tasks=int(sys.argv[2]), digest=sys.argv[3] * 32), flush=True)
"""


def submit(database: Database, tasks: int, digest: str = "ab") -> subprocess.Popen:
    """Begin to submit in a process of its own; it has loaded everything and goes."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUBMIT, database.url, str(tasks), digest],
        stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def submitted(process: subprocess.Popen) -> str:
    assert process.stdout
    job = process.stdout.read().strip()
    assert process.wait(120) == 0 and job
    return job


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


def beat_until(database: Database, over) -> float:
    """Report as a worker does, though more often; returns the seconds that the longest report took."""
    session, longest = start_session(database, "1"), 0.0
    while not over():
        started = time.monotonic()
        beat(database, session, [], {})
        longest = max(longest, time.monotonic() - started)
        time.sleep(0.02)
    return longest


def test_who_works_beside_a_large_submit_is_not_kept_from_reporting(database):
    process = submit(database, MANY)
    assert beat_until(database, lambda: process.poll() is not None) < 2.0
    whole(database, submitted(process), MANY)


def test_who_works_beside_the_removal_of_a_large_job_is_not_kept_from_reporting(database):
    job = new_job(database, tasks=MANY)
    cancel(database, job)
    removal = threading.Thread(target=remove, args=(database, job))
    removal.start()
    assert beat_until(database, lambda: not removal.is_alive()) < 2.0
    with database.engine.connect() as connection:
        for table in (JobRow, Item, TaskRow, Dataset):
            assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 0


def test_a_submit_that_is_killed_leaves_nothing_to_be_seen_and_the_next_one_stores_all(database):
    pick, tasks = random.Random(3), 20_000
    for _ in range(4):
        process = submit(database, tasks)
        time.sleep(pick.uniform(0.05, 0.5))
        process.kill()
        process.wait()
        if states(database)["queued"]:
            break
        with database.engine.connect() as connection:
            assert page_of_jobs(connection, Filter(), "", 9) == jobs_of_kind(connection, "evaluate") == []
            for left in connection.execute(select(JobRow.id)).scalars():
                with pytest.raises(SpecError, match="No job has an id"):
                    get_job(connection, left)
        assert runnable_jobs(database, ["llm"]) == find_idle_jobs(database) == []
        with database.writer.begin() as connection:  # as if it had been silent for long
            connection.execute(update(JobRow).values(not_before_at=0.0))
    whole(database, new_job(database, tasks=tasks), tasks)
    assert states(database) == {"queued": 1}


def test_another_request_does_not_see_a_dataset_that_is_half_stored(database):
    """The one that was killed had stored the first tasks; the next job on them, of a few, completes them."""
    process = submit(database, MANY)
    wait_for(lambda: rows(database, TaskRow) > 5000)
    process.kill()
    process.wait()
    assert states(database) == {"submitting": 1}
    job = new_job(database, tasks=MANY, digest="cd" * 32, limit=3)
    with database.engine.connect() as connection:
        assert get_job(connection, job).items == 3
        assert connection.execute(select(Dataset.complete)).scalars().all() == [True]
    assert rows(database, TaskRow) == MANY


def test_the_same_request_twice_at_once_is_one_job(database):
    first, second = submit(database, 12_000), submit(database, 12_000)
    job = submitted(first)
    assert submitted(second) == job
    whole(database, job, 12_000)


def test_two_requests_for_the_same_dataset_at_once_are_both_whole(database):
    first, second = submit(database, 12_000, "ab"), submit(database, 12_000, "cd")
    jobs = {submitted(first), submitted(second)}
    assert len(jobs) == 2 and states(database) == {"queued": 2}
    assert rows(database, TaskRow) == 12_000 and rows(database, Item) == 24_000


def test_what_a_killed_submit_left_is_removed_by_the_next_of_any_request(database):
    process = submit(database, MANY)
    wait_for(lambda: rows(database, TaskRow) > 5000)
    process.kill()
    process.wait()
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(not_before_at=0.0))
    job = new_job(database, tasks=0, windows=3, digest="cd" * 32)
    assert states(database) == {"queued": 1} and rows(database, TaskRow) == rows(database, Dataset) == 0
    assert runnable_jobs(database, ["llm"]) == [job]


def test_a_job_that_is_removed_while_it_is_stored_says_so(database, monkeypatch):
    monkeypatch.setattr(db.chunks, "FIRST_ROWS", 100)

    def take(*_) -> None:
        with database.writer.begin() as connection:
            connection.execute(update(JobRow).values(not_before_at=0.0))
        db.removal.remove_leftovers(database)

    monkeypatch.setattr(db.chunks.Chunks, "rest", take)
    with pytest.raises(SpecError, match="was removed while it was being stored: submit it again"):
        new_job(database, tasks=20_000)
    assert rows(database, JobRow) == rows(database, TaskRow) == 0


def test_a_submit_that_fails_half_way_leaves_nothing(database, monkeypatch):
    def fail(*_) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(db.chunks.Chunks, "rest", fail)
    with pytest.raises(KeyboardInterrupt):
        new_job(database, tasks=20_000)
    assert rows(database, JobRow) == rows(database, TaskRow) == 0


def test_others_have_as_long_as_a_chunk_takes_where_somebody_works(database, monkeypatch):
    """And a quarter of that where nobody does. PostgreSQL's writers do not wait for one another."""
    if not database.is_sqlite:
        pytest.skip("PostgreSQL has no one lock for all writers")
    monkeypatch.setattr(db.chunks, "FIRST_ROWS", 400)
    monkeypatch.setattr(db.chunks, "MAX_ROWS", 400)
    monkeypatch.setattr(db.chunks, "SECONDS", 10.0)  # however slow, a chunk has as many rows
    rested: list[float] = []
    monkeypatch.setattr(db.chunks.Chunks, "rest", lambda _, seconds: rested.append(seconds))
    held: list[float] = []
    touch = db.chunks.Chunks.touch

    def slow(self, *given, **named):
        touch(self, *given, **named)
        held.append(time.monotonic())
        time.sleep(0.2)

    monkeypatch.setattr(db.chunks.Chunks, "touch", slow)
    new_job(database, tasks=1200)
    alone, rested[:] = max(rested), []
    assert 0.02 < alone < 0.15  # of 0.2 s and a little more
    beat(database, start_session(database, "1"), [], {})
    new_job(database, tasks=1200, digest="cd" * 32, again=True)
    assert len(rested) >= 2 and min(rested) > 0.15


def test_samples_and_limits_of_a_large_job_are_those_of_a_small_one(database, monkeypatch):
    small = new_job(database, tasks=50, samples=3, limit=40)
    monkeypatch.setattr(db.chunks, "FIRST_ROWS", 7)
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
    monkeypatch.setattr(db.chunks, "FIRST_ROWS", 3)
    first, second = new_job(database, tasks=20), new_job(database, tasks=20, digest="cd" * 32)
    claim(database, holder(database, first), 5)
    pause(database, first)
    remove(database, first)
    assert rows(database, TaskRow) == 20 and rows(database, Item) == 20 and rows(database, EpisodeRow) == 0
    whole(database, second, 20)


def rows(database: Database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def wait_for(happens, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until
        time.sleep(0.01)
