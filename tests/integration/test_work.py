"""What a process does for one job and leaves behind: the job's state, its own session. On SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import select, text

from db.models import WorkerSessionRow
from db.queries.jobs import get_job
from db.queue.schedule import back_off, runnable_jobs
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.claims import new_job
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.integration.test_presence import silent
from tests.services import wait_until
from workers.context import WorkerContext
from workers.run import run_slice, try_slice

ITEMS = 4


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


@contextmanager
def at_work(database, **settings):
    process = WorkerContext(Deployment(Settings(database_url=database.url, concurrency=ITEMS, **settings)))
    try:
        yield process
    finally:
        process.close()


def converting(database, process: WorkerContext, rows) -> str:
    return submit(database, process.settings, Convert("wordmath", rows.digest, "dev", limit=ITEMS), rows)[0]


def ended_by(database, session: int) -> str:
    with database.engine.connect() as connection:
        return connection.execute(select(WorkerSessionRow.ended_by).where(WorkerSessionRow.id == session)).scalar_one()


def test_who_does_the_last_item_says_that_the_job_is_done_and_that_it_no_longer_waits(database, rows):
    with at_work(database) as process:
        job = converting(database, process, rows)
        back_off(database, job, "endpoint: down", 0.0)
        assert str(run_slice(process, job, lambda: 0)) == f"{ITEMS} items finished; stopped: the job is done"
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    assert (row.state, row.waits, row.waiting) == ("done", 0, "")


def test_between_two_jobs_a_process_goes_on_beating(database, rows):
    """A loop that is over does not hang."""
    with at_work(database, heartbeat_seconds=0.1, fence_seconds=1.2, lease_seconds=60) as process:
        assert run_slice(process, converting(database, process, rows), lambda: 0).finished == ITEMS
        session = process.session.id
        time.sleep(2.2)
        wait_until(lambda: silent(database, session) < 0.8, "it beats", 3)
        assert process.session.id == session


def unreadable(database) -> str:
    """A job of which this code can make nothing."""
    return new_job(database, tasks=1)


def test_a_job_that_meets_a_fault_of_ours_waits_and_says_so_and_the_process_holds_nothing(database):
    job = unreadable(database)
    with at_work(database) as process:
        session = process.session.id
        assert try_slice(process, job, lambda: 0).fault
        assert ended_by(database, session) == "itself", "at once"
        with database.engine.connect() as connection:
            assert get_job(connection, job).waiting.startswith("fault: ")
        assert runnable_jobs(database, ["llm"]) == []
        assert process.session.id != session


def test_who_catches_a_failure_goes_on_in_a_new_session(database):
    job = unreadable(database)
    with at_work(database) as process:
        session = process.session.id
        with pytest.raises(SpecError, match="cannot be read"):
            run_slice(process, job, lambda: 0)
        assert process.session.id != session
        wait_until(lambda: ended_by(database, session), "the old one holds nothing", 5)


@contextmanager
def locked(database):
    """Somebody has a lock that whoever writes waits for."""
    if database.is_sqlite:
        other = sqlite3.connect(database.url.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        yield
        other.close()
    else:
        with database.engine.begin() as connection:
            # In the order in which a heartbeat comes by them, so that the two never wait for each other.
            connection.execute(text("LOCK TABLE heartbeat, job IN ACCESS EXCLUSIVE MODE"))
            yield


def test_who_could_not_report_for_too_long_ends_without_asking_the_database(database, rows):
    with (
        FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks, "one-pass")), latency=30.0) as server,
        at_work(database, heartbeat_seconds=0.2, fence_seconds=1.0, lease_seconds=60) as process,
    ):
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        evaluate = Evaluate(Infer("wordmath", rows.digest, "dev", "one-pass", agent, limit=ITEMS))
        job = submit(database, process.settings, evaluate, rows)[0]
        session, finished = process.session.id, []
        thread = threading.Thread(target=lambda: finished.append(run_slice(process, job, lambda: 0).finished))
        thread.start()
        wait_until(lambda: server.count >= ITEMS, "the job is under way")
        with locked(database):
            thread.join(6)
            assert finished == [0]
        thread.join(20)
        wait_until(lambda: ended_by(database, session), "what it held is owed again", 15)
