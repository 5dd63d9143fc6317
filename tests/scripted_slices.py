"""Slices of scripted jobs in this process, for tests of what becomes of their items."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from sqlalchemy import select

from db.engine.connection import now
from db.models import Item
from db.queries.jobs import get_job
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.records import Ending, Outcome
from lumos_queue.settings import Settings
from tests import services
from workers.session import WorkerSession
from workers.slice import Slice
from workers.stop_signal import StopSignal

ANSWERED = ItemResult(Outcome("7", Ending.ANSWERED))
#: No heartbeat during a test.
SETTINGS = Settings(
    flush_seconds=0.02, concurrency=8, heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0
)


class ScriptedJob:
    """A job whose items do what a function does. It counts the items that run at once."""

    def __init__(self, work: Callable[[Work], Any], concurrency: int = 0):
        self._work, self.concurrency = work, concurrency
        self.ordinals: list[int] = []
        self.running = self.most_running = 0

    def prompt_prefixes(self) -> dict[str, str]:
        return {}

    async def run(self, work: Work, journal: Any, context: Any) -> ItemResult:
        self.ordinals.append(work.ordinal)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._work(work) or ANSWERED
        finally:
            self.running -= 1


class EndRequest:
    """The answers of a process to a slice that asks whether to end: CONTINUE until `signal` is set."""

    def __init__(self, reason: str | None = None):
        self.signal = StopSignal.CONTINUE
        if reason is not None:
            self.reason = reason

    def __call__(self) -> StopSignal:
        return self.signal


@contextmanager
def open_session(database, **settings: Any) -> Iterator[WorkerSession]:
    session = WorkerSession(database, SETTINGS.model_copy(update=settings), "1")
    try:
        yield session
    finally:
        session.close()


def make_slice(session: WorkerSession, job: str, script: ScriptedJob, *gates: AdmissionControl, **options) -> Slice:
    with session.database.engine.connect() as connection:
        row = get_job(connection, job)
    context = SimpleNamespace(traffic={gate.url: gate for gate in gates})
    return Slice(session, row, script, context, options.pop("should_end", lambda: StopSignal.CONTINUE), **options)


def run(job_slice: Slice) -> Slice:
    """Run a slice to its end; fail the test when that takes too long."""

    async def run_bounded() -> None:
        await asyncio.wait_for(job_slice.run(), services.WAIT_SECONDS)

    asyncio.run(run_bounded())
    return job_slice


def run_job(database, job: str, script: ScriptedJob, *gates: AdmissionControl, **options) -> Slice:
    with open_session(database, **options.pop("settings", {})) as session:
        return run(make_slice(session, job, script, *gates, **options))


def read_items(database, job: str, *columns: Any) -> list[tuple]:
    with database.engine.connect() as connection:
        rows = connection.execute(select(*columns or (Item.state,)).where(Item.job == job).order_by(Item.ordinal))
        return [tuple(row) for row in rows]


def read_clock(database) -> float:
    """Return the time of the database, in seconds."""
    with database.engine.connect() as connection:
        return connection.execute(select(now())).scalar_one()


async def answer(work: Work) -> None:
    """Answer at once."""


def raise_error(error: Exception) -> Callable[[Work], Any]:
    async def fail(work: Work) -> None:
        raise error

    return fail
