"""A process that could not report stops itself before the others take its items. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import select, update

import db.engine.lease
import workers.session
from db.engine.connection import now
from db.models import EndpointShare, Heartbeat, WorkerSessionRow
from db.queue.fence import beat, start_session
from db.queue.job_changes import cancel
from db.queue.shares import set_cap
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.services import wait_until
from workers.session import WorkerSession

QUICK = Settings(heartbeat_seconds=0.05, fence_seconds=0.6, lease_seconds=1.0)
URL = "tgi://a:1"


@contextmanager
def present(database, settings: Settings = QUICK):
    session = WorkerSession(database, settings, "1")
    try:
        yield session
    finally:
        session.close()


@pytest.fixture(autouse=True)
def no_exit(monkeypatch):
    """A loop that seems to hang in a test ends no process."""
    monkeypatch.setattr(db.engine.lease, "HUNG_LEASES", 1000)


def silent(database, session: int) -> float:
    """Seconds since the session's last heartbeat, by the database's clock."""
    with database.engine.connect() as connection:
        return connection.execute(select(now() - Heartbeat.at).where(Heartbeat.session == session)).scalar_one()


def test_a_process_that_cannot_report_may_soon_write_no_more_though_nobody_said_so(database, monkeypatch):
    """The database hangs: what the process holds may be another's, and it cannot ask."""
    with present(database) as session:
        wait_until(lambda: silent(database, session.id) < 0.3, "it beats")
        wait_until(lambda: not session.lost, "it may write")
        beats = []

        def hangs(*arguments):
            beats.append(time.monotonic())
            time.sleep(1.0)
            return beat(*arguments)

        monkeypatch.setattr(workers.session, "beat", hangs)
        wait_until(lambda: session.lost, "it stops itself", 3)
        with database.engine.connect() as connection:
            ended = select(WorkerSessionRow.ended_at).where(WorkerSessionRow.id == session.id)
            assert connection.execute(ended).scalar_one() is None, "nobody has declared it dead"
        # A beat that ends says that the process lived when it began, and no more.
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert session.lost
            time.sleep(0.01)
        assert len(beats) >= 2
        monkeypatch.setattr(workers.session, "beat", beat)
        wait_until(lambda: not session.lost, "it lives again: nobody took its items", 3)


def test_a_process_whose_loop_hangs_beats_no_more_and_goes_on_beating_once_it_moves(database):
    with present(database) as session:
        session.work_on("a job")
        wait_until(lambda: silent(database, session.id) > 0.5, "it is silent", 5)
        session.mark_loop_alive()
        wait_until(lambda: silent(database, session.id) < 0.3, "it beats again", 5)
        session.leave("a job")
        time.sleep(1.0)
        wait_until(lambda: silent(database, session.id) < 0.3, "a process without a job has no loop to hang", 3)


def test_a_process_declared_dead_hears_of_it(database):
    with present(database, Settings(heartbeat_seconds=0.05, fence_seconds=100, lease_seconds=200)) as session:
        with database.writer.begin() as connection:
            gone = update(WorkerSessionRow).where(WorkerSessionRow.id == session.id)
            connection.execute(gone.values(ended_at=now(), ended_by="another"))
        wait_until(lambda: session.lost, "it knows", 5)
        time.sleep(0.3)
        assert session.lost


def test_who_beats_declares_the_silent_dead(database):
    silent_one = start_session(database, "1")
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == silent_one).values(at=now() - 60))
    with present(database) as session:
        ended = select(WorkerSessionRow.ended_by).where(WorkerSessionRow.id == silent_one)

        def by() -> str:
            with database.engine.connect() as connection:
                return connection.execute(ended).scalar_one()

        assert wait_until(by, "it is declared dead", 5) == f"session {session.id}"


def test_what_a_process_wants_of_an_endpoint_is_what_runs_and_what_waits_and_nothing_after_its_job(database):
    set_cap(database, URL, 10)

    def shares() -> list[tuple[int, int]]:
        with database.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(select(EndpointShare.session, EndpointShare.demand))]

    async def work(session: WorkerSession) -> None:
        traffic = AdmissionControl(URL, 2)
        requests = [asyncio.create_task(traffic.enter()) for _ in range(5)]
        await asyncio.sleep(0)
        assert (traffic.in_flight, traffic.waiting) == (2, 3)
        session.use({URL: traffic})
        assert traffic.share == 10 and shares() == [(session.id, 5)]
        for one in requests:
            one.cancel()

    with present(database) as session:
        session.work_on("a job")
        asyncio.run(work(session))
        session.leave("a job")
        wait_until(lambda: not shares(), "its share is free again", 5)


def test_a_process_knows_the_states_of_its_jobs_alone(database):
    job = new_job(database)
    with present(database) as session:
        session.work_on(job)
        wait_until(lambda: session.states == {job: "queued"}, "it knows", 5)
        cancel(database, job)
        session.mark_loop_alive()
        wait_until(lambda: session.states == {job: "cancelled"}, "it hears of it", 5)
        session.leave(job)
        assert session.states.get(job) is None
        time.sleep(0.2)
        assert session.states == {}
