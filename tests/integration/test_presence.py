"""A process that could not report stops itself before the others take its items. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import select, update

import workers.session
from db.connection import now
from db.fence import beat, start_session
from db.jobs import cancel
from db.models import EndpointShare, Heartbeat, WorkerSession
from db.shares import set_cap
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.services import wait_until
from workers.session import Presence

QUICK = Settings(heartbeat_seconds=0.05, fence_seconds=0.6, lease_seconds=1.0)
URL = "tgi://a:1"


@contextmanager
def present(database, settings: Settings = QUICK):
    presence = Presence(database, settings, "1")
    try:
        yield presence
    finally:
        presence.close()


@pytest.fixture(autouse=True)
def no_exit(monkeypatch):
    """A loop that seems to hang in a test ends no process."""
    monkeypatch.setattr(workers.session, "HUNG_LEASES", 1000)


def silent(database, session: int) -> float:
    """Seconds since the session's last heartbeat, by the database's clock."""
    with database.engine.connect() as connection:
        return connection.execute(select(now() - Heartbeat.at).where(Heartbeat.session == session)).scalar_one()


def test_a_process_that_cannot_report_may_soon_write_no_more_though_nobody_said_so(database, monkeypatch):
    """The database hangs: what the process holds may be another's, and it cannot ask."""
    with present(database) as presence:
        wait_until(lambda: silent(database, presence.session) < 0.3, "it beats")
        wait_until(lambda: not presence.lost, "it may write")
        beats = []

        def hangs(*arguments):
            beats.append(time.monotonic())
            time.sleep(1.0)
            return beat(*arguments)

        monkeypatch.setattr(workers.session, "beat", hangs)
        wait_until(lambda: presence.lost, "it stops itself", 3)
        with database.engine.connect() as connection:
            ended = select(WorkerSession.ended_at).where(WorkerSession.id == presence.session)
            assert connection.execute(ended).scalar_one() is None, "nobody has declared it dead"
        # A beat that ends says that the process lived when it began, and no more.
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert presence.lost
            time.sleep(0.01)
        assert len(beats) >= 2
        monkeypatch.setattr(workers.session, "beat", beat)
        wait_until(lambda: not presence.lost, "it lives again: nobody took its items", 3)


def test_a_process_whose_loop_hangs_beats_no_more_and_goes_on_beating_once_it_moves(database):
    with present(database) as presence:
        presence.work_on("a job")
        wait_until(lambda: silent(database, presence.session) > 0.5, "it is silent", 5)
        presence.loop_moves()
        wait_until(lambda: silent(database, presence.session) < 0.3, "it beats again", 5)
        presence.leave("a job")
        time.sleep(1.0)
        wait_until(lambda: silent(database, presence.session) < 0.3, "a process without a job has no loop to hang", 3)


def test_a_process_declared_dead_hears_of_it(database):
    with present(database, Settings(heartbeat_seconds=0.05, fence_seconds=100, lease_seconds=200)) as presence:
        with database.writer.begin() as connection:
            gone = update(WorkerSession).where(WorkerSession.id == presence.session)
            connection.execute(gone.values(ended_at=now(), ended_by="another"))
        wait_until(lambda: presence.lost, "it knows", 5)
        time.sleep(0.3)
        assert presence.lost


def test_who_beats_declares_the_silent_dead(database):
    silent_one = start_session(database, "1")
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == silent_one).values(at=now() - 60))
    with present(database) as presence:
        ended = select(WorkerSession.ended_by).where(WorkerSession.id == silent_one)

        def by() -> str:
            with database.engine.connect() as connection:
                return connection.execute(ended).scalar_one()

        assert wait_until(by, "it is declared dead", 5) == f"session {presence.session}"


def test_what_a_process_wants_of_an_endpoint_is_what_runs_and_what_waits_and_nothing_after_its_job(database):
    set_cap(database, URL, 10)

    def shares() -> list[tuple[int, int]]:
        with database.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(select(EndpointShare.session, EndpointShare.demand))]

    async def work(presence: Presence) -> None:
        traffic = AdmissionControl(URL, 2)
        requests = [asyncio.create_task(traffic.enter()) for _ in range(5)]
        await asyncio.sleep(0)
        assert (traffic.in_flight, traffic.waiting) == (2, 3)
        presence.use({URL: traffic})
        assert traffic.share == 10 and shares() == [(presence.session, 5)]
        for one in requests:
            one.cancel()

    with present(database) as presence:
        presence.work_on("a job")
        asyncio.run(work(presence))
        presence.leave("a job")
        wait_until(lambda: not shares(), "its share is free again", 5)


def test_a_process_knows_the_states_of_its_jobs_alone(database):
    job = new_job(database)
    with present(database) as presence:
        presence.work_on(job)
        wait_until(lambda: presence.states == {job: "queued"}, "it knows", 5)
        cancel(database, job)
        presence.loop_moves()
        wait_until(lambda: presence.states == {job: "cancelled"}, "it hears of it", 5)
        presence.leave(job)
        assert presence.states.get(job) is None
        time.sleep(0.2)
        assert presence.states == {}
