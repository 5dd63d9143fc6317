"""What `run_slice` does when a job cannot start or has to stop: the result, the job's wait, the log. On SQLite."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import asynccontextmanager
from socket import gethostname
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

import workers.run
from db.engine.connection import now
from db.models import JobEndpoint, JobRow, WorkerSessionRow
from db.queries.jobs import get_job
from db.queue.fence import Fenced
from db.queue.job_changes import pause, resume
from db.queue.schedule import await_job, back_off
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.errors import (
    ConstraintViolated,
    DatabaseUnavailable,
    EndpointDown,
    InfrastructureError,
    NeedsAttention,
    SpecError,
    WaitsForJob,
)
from lumos_queue.jobs.base import ItemResult
from lumos_queue.records import Outcome
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.stored_rows import make_tables
from workers.context import WorkerContext
from workers.run import FAULT_SECONDS, WAIT_SECONDS, run_slice, try_slice

URL = "tgi://a:1"


class ScriptedJob:
    """A job whose items do what a function does, with endpoints that a function opens."""

    concurrency = 0

    def __init__(self, do=None, opening: Exception | None = None):
        self._do, self._opening = do, opening
        self.settings: list[Settings] = []
        self.threads: list[str] = []
        self.pace_shares: list[int] = []

    def prompt_prefixes(self) -> dict[str, str]:
        return {}

    @asynccontextmanager
    async def open(self, settings: Settings):
        self.settings.append(settings)
        self.threads.append(threading.current_thread().name)
        if self._opening:
            raise self._opening
        self.gate = AdmissionControl(URL, 2)
        yield SimpleNamespace(traffic={URL: self.gate}, identities=[("planner", URL, {"model": "m"})])

    async def run(self, work: Any, journal: Any, context: Any) -> ItemResult:
        if self._do:
            return await self._do(work, journal)
        return ItemResult(Outcome("7", "answered"))


@pytest.fixture
def worker(tmp_path):
    make_tables(tmp_path)
    context = WorkerContext(Deployment(Settings(home=tmp_path, heartbeat_seconds=0.2, flush_seconds=0.01)))
    yield context
    context.close()


@pytest.fixture
def scripted(monkeypatch):
    """Let the slice read this job, whatever its row says."""

    def script(*arguments: Any, **options: Any) -> ScriptedJob:
        job = ScriptedJob(*arguments, **options)
        monkeypatch.setattr(workers.run, "read_job", lambda kind, spec: job)
        monkeypatch.setattr(workers.run, "check_plugins", lambda row: None)
        return job

    return script


def read_wait(worker: WorkerContext, job: str) -> tuple[str, float]:
    """Return why the job waits, and for how many seconds since its last wait began."""
    with worker.database.engine.connect() as connection:
        row = connection.execute(select(JobRow.waiting, JobRow.not_before_at - now()).where(JobRow.id == job)).one()
    return row[0], row[1]


def expect_wait(worker: WorkerContext, job: str, reason: str, seconds: float) -> None:
    waiting, left = read_wait(worker, job)
    assert waiting == reason and 0 < left <= seconds and left > seconds - 5, (waiting, left)


def get_state(worker: WorkerContext, job: str) -> str:
    with worker.database.engine.connect() as connection:
        return get_job(connection, job).state


def run(worker: WorkerContext, job: str):
    return run_slice(worker, job, lambda: 0)


def test_a_job_is_done_in_a_thread_of_its_own_and_its_endpoints_are_stored(worker, scripted):
    job = new_job(worker.database)
    script = scripted()
    worker.outage = EndpointDown("earlier")
    assert str(run(worker, job)) == "4 items finished; stopped: the job is done"
    assert script.threads == [f"slice-{job}"] and script.settings == [worker.deployment]
    with worker.database.engine.connect() as connection:
        assert get_job(connection, job).state == "done"
        stored = connection.execute(select(JobEndpoint.role, JobEndpoint.url)).all()
    assert [tuple(row) for row in stored] == [("planner", URL)]
    assert worker.outage is None, "an item was answered"
    assert not worker.session.working and not worker.session.lost and worker.session.states == {}


def test_a_job_that_was_removed_is_no_failure(worker, scripted, caplog):
    scripted()
    with caplog.at_level(logging.INFO, "workers.run"):
        result = run(worker, "zzzzzzzz")
    assert str(result) == "0 items finished; stopped: the job was removed" and not result.has_failed
    assert caplog.messages == ["job zzzzzzzz was removed"]


def test_a_process_without_a_plugin_leaves_the_job_waiting_with_its_name(worker, scripted, monkeypatch, caplog):
    job = new_job(worker.database)
    scripted()

    def refuse(row: Any) -> None:
        raise SpecError(f"no module 'x' for {row.id}")

    monkeypatch.setattr(workers.run, "check_plugins", refuse)
    result = run(worker, job)
    problem = f"no module 'x' for {job}"
    assert result.failure == f"plug-in: {problem}" and isinstance(worker.outage, EndpointDown)
    assert str(worker.outage) == problem and caplog.messages == [f"job {job} is refused: {problem}"]
    expect_wait(worker, job, f"plug-in: {problem} (on {gethostname()})", WAIT_SECONDS)
    assert get_state(worker, job) == "queued"


def test_a_damaged_job_waits_a_minute_and_names_its_damage(worker, scripted, caplog):
    job = new_job(worker.database)
    scripted()
    with worker.database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(items=-5))
    result = run(worker, job)
    assert job in result.failure and caplog.messages == [result.failure]
    waiting, left = read_wait(worker, job)
    assert waiting == result.failure and FAULT_SECONDS - 5 < left <= FAULT_SECONDS


def test_a_job_that_was_paused_before_the_slice_began_is_not_begun(worker, scripted):
    job = new_job(worker.database)
    script = scripted()
    pause(worker.database, job)
    assert str(run(worker, job)) == "0 items finished; stopped: the job is paused"
    assert len(script.settings) == 1 and get_state(worker, job) == "paused"


def test_a_job_that_was_stopped_when_the_slice_began_and_is_resumed_later_is_left_to_the_next_slice(worker, scripted):
    job = new_job(worker.database)
    script = scripted()
    open_endpoints = script.open

    @asynccontextmanager
    async def open_stopped(settings: Settings):
        async with open_endpoints(settings) as context:
            pause(worker.database, job)
            yield context
            resume(worker.database, job)

    script.open = open_stopped
    assert str(run(worker, job)) == "0 items finished; stopped: the job was stopped"
    assert get_state(worker, job) == "queued" and run(worker, job).finished == 0


def test_a_process_shows_that_its_loop_moves_while_an_item_takes_long(worker, scripted):
    job, session, marks = new_job(worker.database), worker.session, []

    async def wait_for_mark(work: Any, journal: Any) -> ItemResult:
        before = session._loop_at
        async with asyncio.timeout(10):
            while session._loop_at == before:
                await asyncio.sleep(0.01)
        marks.append(work.ordinal)
        return ItemResult(Outcome("7", "answered"))

    scripted(wait_for_mark)
    run(worker, job)
    assert sorted(marks) == [0, 1, 2, 3]


def test_a_job_of_the_pool_gpu_is_left_alone_on_a_machine_without(worker, scripted, monkeypatch):
    job = new_job(worker.database, pool="gpu")
    script = scripted()
    asked = []
    monkeypatch.setattr(WorkerContext, "can_run", lambda self, pool: bool(asked.append(pool)))
    assert str(run(worker, job)) == "0 items finished; stopped: this machine has no GPU"
    assert asked == ["gpu"] and script.settings == [] and get_state(worker, job) == "queued"
    monkeypatch.setattr(WorkerContext, "can_run", lambda self, pool: True)
    assert run(worker, job).finished == 4


def test_a_job_with_its_own_concurrency_runs_with_it_and_says_that_files_are_limited(worker, scripted, caplog):
    job = new_job(worker.database)
    script = scripted()
    with worker.database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(concurrency=10**6))
    assert run(worker, job).finished == 4
    assert [deployment.settings.concurrency for deployment in script.settings] == [10**6]
    assert worker.settings.concurrency == 64
    (line,) = [line for line in caplog.messages if "open files" in line]
    assert line.startswith("open files are limited to ") and "LUMOS_CONCURRENCY=1000000" in line


@pytest.mark.parametrize(
    "error", [EndpointDown("a is down", status=503), InfrastructureError("a is away"), SpecError("no")]
)
def test_an_endpoint_that_cannot_be_opened_lets_the_job_wait_and_charges_nobody(worker, scripted, caplog, error):
    job = new_job(worker.database)
    scripted(opening=error)
    result = run(worker, job)
    assert str(result) == f"failed: endpoint: {error}; 0 items finished"
    expect_wait(worker, job, f"endpoint: {error}", WAIT_SECONDS)
    assert caplog.messages == [f"job {job} waits: {error}"]
    assert isinstance(worker.outage, EndpointDown) and str(worker.outage) == str(error)
    assert (worker.outage is error) == isinstance(error, EndpointDown)
    assert not worker.session.lost and not worker.session.working


def test_an_endpoint_that_goes_down_during_the_slice_lets_the_job_wait(worker, scripted):
    job = new_job(worker.database)

    async def down(work: Any, journal: Any) -> ItemResult:
        raise EndpointDown("a is down", status=503)

    scripted(down)
    assert str(run(worker, job)) == "failed: endpoint: a is down; 0 items finished"
    expect_wait(worker, job, "endpoint: a is down", WAIT_SECONDS)
    assert worker.outage is not None and worker.outage.status == 503


def test_the_wait_after_an_outage_is_short_again_once_an_item_was_finished(worker, scripted):
    job = new_job(worker.database)
    for _ in range(3):
        back_off(worker.database, job, "endpoint: down", 0.0)
    scripted()
    run(worker, job)
    with worker.database.engine.connect() as connection:
        assert get_job(connection, job).waits == 0


def test_rows_that_the_database_refuses_for_good_let_the_job_wait_a_minute(worker, scripted, caplog):
    job = new_job(worker.database)
    session = worker.session
    scripted(opening=ConstraintViolated("UNIQUE constraint failed"))
    result = run(worker, job)
    assert result.failure.startswith("database: ") and "UNIQUE constraint failed" in result.failure
    waiting, left = read_wait(worker, job)
    assert waiting == result.failure and FAULT_SECONDS - 5 < left <= FAULT_SECONDS
    assert caplog.messages[0] == f"job {job} waits for the database: {result.failure.removeprefix('database: ')}"
    assert session.lost and worker.session is not session


def test_a_database_that_is_away_ends_the_slice_and_its_session(worker, scripted):
    job = new_job(worker.database)
    session = worker.session
    scripted(opening=DatabaseUnavailable("database is locked"))
    with pytest.raises(DatabaseUnavailable):
        try_slice(worker, job, lambda: 0)
    assert session.lost and worker.session is not session
    assert read_wait(worker, job)[0] == "", "a dispatcher tries again"


def test_a_process_that_was_declared_dead_writes_nothing_more(worker, scripted, caplog):
    job = new_job(worker.database)
    session = worker.session

    async def fenced(work: Any, journal: Any) -> ItemResult:
        session.declare_lost()
        raise InfrastructureError("x")

    scripted(fenced)
    result = run(worker, job)
    assert result.failure.endswith(": stopped without writing") and session.lost
    assert result.failure in caplog.messages and read_wait(worker, job)[0] == ""
    scripted(opening=Fenced("declared dead"))
    assert run(worker, job).failure == "declared dead: stopped without writing"


def test_an_internal_error_is_logged_and_the_job_waits_a_minute(worker, scripted, caplog):
    job = new_job(worker.database)
    session = worker.session.id
    scripted(opening=ValueError("a bug"))
    result = try_slice(worker, job, lambda: 0)
    assert (result.failure, result.fault) == ("fault: ValueError: a bug", True)
    waiting, left = read_wait(worker, job)
    assert waiting == "fault: ValueError: a bug" and FAULT_SECONDS - 5 < left <= FAULT_SECONDS
    (record,) = [record for record in caplog.records if record.name == "workers.run"]
    assert record.getMessage() == f"a slice of job {job} failed" and record.exc_info
    with worker.database.engine.connect() as connection:
        ended = select(WorkerSessionRow.ended_by).where(WorkerSessionRow.id == session)
        assert connection.execute(ended).scalar_one() == "itself", "its items are pending again at once"


@pytest.fixture
def notified(monkeypatch) -> list[tuple]:
    messages: list[tuple] = []
    monkeypatch.setattr(workers.run, "notify_workers", lambda settings, *message: messages.append(message))
    return messages


def with_broker(worker: WorkerContext) -> WorkerContext:
    worker.settings = worker.settings.model_copy(update={"broker_url": "memory://"})
    return worker


@pytest.mark.parametrize("has_broker", [True, False])
def test_a_job_that_needs_another_waits_for_it_and_workers_hear_of_that_job(worker, scripted, notified, has_broker):
    job, other = new_job(worker.database, tasks=1), new_job(worker.database, digest="cd" * 32, tasks=3, pool="cpu")
    if has_broker:
        with_broker(worker)

    async def waits(work: Any, journal: Any) -> ItemResult:
        raise WaitsForJob("for the rollouts", other)

    scripted(waits)
    assert str(run(worker, job)) == f"0 items finished; stopped: it waits for job {other}"
    assert read_wait(worker, job)[0] == "for the rollouts"
    assert notified == ([("evaluate", other, 3, "cpu")] if has_broker else [])


@pytest.mark.parametrize("has_broker", [True, False])
def test_workers_hear_of_the_jobs_that_waited_for_a_job_that_ends(worker, scripted, notified, has_broker):
    job = new_job(worker.database)
    waiting = new_job(worker.database, digest="cd" * 32, pool="cpu", kind="convert")
    await_job(worker.database, waiting, job, "for it")
    if has_broker:
        with_broker(worker)
    scripted()
    run(worker, job)
    assert notified == ([("convert", waiting, 1, "cpu")] if has_broker else [])


def test_a_job_that_pauses_or_fails_by_itself_says_why_in_the_result(worker, scripted):
    async def stop(work: Any, journal: Any) -> ItemResult:
        raise error

    error: Exception = NeedsAttention("approve the plan.")
    scripted(stop)
    paused, failed = (
        new_job(worker.database, tasks=0, kind="train", windows=1, digest=f"{letter}b" * 32) for letter in "ac"
    )
    assert str(run(worker, paused)) == ("0 items finished; stopped: the job is paused: item 0: approve the plan.")
    error = SpecError("no file.")
    assert str(run(worker, failed)) == "failed: job: item 0: no file; 0 items finished"
    assert (get_state(worker, paused), get_state(worker, failed)) == ("paused", "failed")


def test_a_slice_without_due_items_says_which_failure_they_wait_for(worker, scripted):
    job = new_job(worker.database, tasks=1)

    async def fail(work: Any, journal: Any) -> ItemResult:
        raise InfrastructureError("the quota is used up", 500.0)

    scripted(fail)
    assert str(run(worker, job)) == "failed: 0 items finished, 1 failed: the quota is used up"
    second = run(worker, job)
    assert second.why.startswith("nothing was due: ") and "the quota is used up" in second.why
    assert get_state(worker, job) == "running"


def test_the_event_loop_reports_that_it_moves_four_times_a_heartbeat(monkeypatch):
    waits, marks = [], []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(workers.run.asyncio, "sleep", sleep)
    session = SimpleNamespace(mark_loop_alive=lambda: marks.append(1))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(workers.run._mark_loop_alive(session, Settings(heartbeat_seconds=2.0)))
    assert waits == [0.5, 0.5, 0.5] and len(marks) == 3
