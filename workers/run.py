"""Run a slice of a job: open its endpoints and tools, run the slice, and finish the job when no item remains."""

from __future__ import annotations

import asyncio
import logging
import threading
from functools import partial
from socket import gethostname

from db.engine.connection import Database
from db.engine.errors import reason
from db.kinds.pools import Pool
from db.kinds.states import OPEN, JobState
from db.queries.damage import DamagedJob, find_damage
from db.queries.jobs import find_job
from db.queue.fence import Fenced
from db.queue.job_changes import finish_if_idle
from db.queue.schedule import await_job, back_off, begin_work, jobs_awaiting, reset_backoff
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable, EndpointDown, InfrastructureError, SpecError
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.jobs.registry import read_job
from lumos_queue.reports.completeness import stop_reason
from lumos_queue.settings import Settings
from workers.context import WorkerContext
from workers.event_loop import run_on_loop
from workers.idle import NOTHING_DUE, describe_idle
from workers.notify import notify_workers
from workers.open_files import allow_open_files
from workers.session import WorkerSession
from workers.slice import Slice
from workers.slice_result import SliceResult
from workers.stop_signal import ShouldEnd
from workers.writer import CommitRefused

log = logging.getLogger(__name__)
WAIT_SECONDS = 5.0  #: before the next call of an endpoint that does not answer
FAULT_SECONDS = 60.0  #: before the next slice of a job that met an internal error


def try_slice(worker: WorkerContext, job_id: str, should_end: ShouldEnd) -> SliceResult:
    """Call `run_slice`, in a process that must survive the errors of any job.

    After an internal error the job waits, and the worker session ends, so that its items are pending again at once.
    Raises InfrastructureError when the database failed.
    """
    try:
        return run_slice(worker, job_id, should_end)
    except InfrastructureError:
        worker.end_session()
        raise
    except Exception as error:
        log.exception("a slice of job %s failed", job_id)
        worker.end_session()
        fault = f"fault: {type(error).__name__}: {error}"
        back_off(worker.database, job_id, fault, FAULT_SECONDS)
        return SliceResult(failure=fault, fault=True)


def run_slice(worker: WorkerContext, job_id: str, should_end: ShouldEnd) -> SliceResult:
    """Run one slice of a job; return its result.

    The event loop has its own thread, so that a shutdown cannot interrupt a commit: a shutdown raises SystemExit in the
    main thread, at any instruction. If an outage stops the slice, it is stored in `worker.outage`.
    """
    session = worker.session  # opened in the thread that owns the process
    result = SliceResult()
    failure: BaseException | None = None

    def body() -> None:
        nonlocal failure
        try:
            run_on_loop(_slice(worker, session, job_id, should_end, result))
        except BaseException as error:  # for the waiting thread
            failure = error

    thread = threading.Thread(target=body, name=f"slice-{job_id}")
    thread.start()
    thread.join()
    if failure:
        session.declare_lost()  # no more heartbeats: its items are pending again when the lease ends, at the latest
        raise failure
    return result


async def _slice(
    worker: WorkerContext, session: WorkerSession, job_id: str, should_end: ShouldEnd, result: SliceResult
) -> None:
    database, deployment, settings = session.database, worker.deployment, worker.settings
    with database.engine.connect() as connection:
        row = find_job(connection, job_id)
    if row is None:
        log.info("job %s was removed", job_id)
        result.why = "the job was removed"
        return
    try:
        check_plugins(row)
    except SpecError as error:  # this process lacks plug-ins: another process may run the job
        worker.outage = EndpointDown(str(error))
        result.failure = f"plug-in: {error}"
        back_off(database, row.id, f"{result.failure} (on {gethostname()})", WAIT_SECONDS)
        log.warning("job %s is refused: %s", row.id, error)
        return
    if problem := find_damage(row):
        result.failure = str(DamagedJob(row.id, problem))
        back_off(database, row.id, result.failure, FAULT_SECONDS)
        log.warning("%s", result.failure)
        return
    job = read_job(row.kind, row.spec)
    if row.concurrency:
        settings = settings.model_copy(update={"concurrency": row.concurrency})
        deployment = deployment.with_settings(settings)
        if too_few := allow_open_files(settings):
            log.warning("%s", too_few)
    session.work_on(row.id)
    mark_task = asyncio.create_task(_mark_loop_alive(session, settings))
    try:
        # Only this pool needs a search, which takes time.
        if row.pool == Pool.GPU and not await asyncio.to_thread(worker.can_run, row.pool):
            result.why = "this machine has no GPU"
            return
        async with job.open(deployment) as context:
            if not begin_work(database, row.id, getattr(context, "identities", ())):
                result.why = "the job was stopped"
                return
            if context.traffic:
                await asyncio.to_thread(session.use, context.traffic)
            session.follow(getattr(context, "board", None))
            job_slice = Slice(session, row, job, context, should_end, partial(_clear_outage, worker), result)
            await job_slice.run()
        if result.finished and row.waits:
            reset_backoff(database, row.id)
        if job_slice.awaited:
            result.why = f"it waits for job {job_slice.awaited.job}"
            awaited_job = await_job(database, row.id, job_slice.awaited.job, str(job_slice.awaited))
            if awaited_job and settings.broker_url:
                notify_workers(settings, awaited_job.kind, awaited_job.id, awaited_job.items, awaited_job.pool)
        if job_slice.down:
            raise job_slice.down
    except Fenced as error:
        session.declare_lost()
        result.failure = f"{error}: stopped without writing"
        log.error("%s", result.failure)
    except (DatabaseFailure, CommitRefused) as error:
        session.declare_lost()
        if isinstance(error, DatabaseUnavailable):
            raise
        # A retry would not help, and no item is to blame: a person has to act.
        result.failure = f"database: {reason(error)}"
        back_off(database, row.id, result.failure, FAULT_SECONDS)
        log.error("job %s waits for the database: %s", row.id, reason(error))
    except (InfrastructureError, SpecError) as error:
        # Nothing could start: no item is charged, and the job states the reason of the wait.
        worker.outage = error if isinstance(error, EndpointDown) else EndpointDown(str(error))
        result.failure = f"endpoint: {error}"
        back_off(database, row.id, result.failure, WAIT_SECONDS)
        log.warning("job %s waits: %s", row.id, error)
    finally:
        mark_task.cancel()
        session.leave(row.id)
        if not session.lost:
            _finish_job(database, settings, row.id, result)


def _finish_job(database: Database, settings: Settings, job: str, result: SliceResult) -> None:
    """Finish the job if no item remains. Then notify the workers of the jobs that waited for this job."""
    state = finish_if_idle(database, job)
    if state in OPEN:
        if result.why == NOTHING_DUE and not (result.failures or result.failure):
            result.why = describe_idle(database, job)
        return
    result.why = f"the job is {state}"
    _note_stop(database, job, result)
    for waiting_job in jobs_awaiting(database, job) if settings.broker_url else ():
        notify_workers(settings, waiting_job.kind, waiting_job.id, 1, waiting_job.pool)


def _note_stop(database: Database, job: str, result: SliceResult) -> None:
    """Write into the result why the job has paused by itself or has failed. If it failed, so did the slice."""
    with database.engine.connect() as connection:
        row = find_job(connection, job)
    if row is None or not (reason := stop_reason(row.state, row.waiting)):
        return
    if row.state == JobState.FAILED:
        result.failure = result.failure or f"job: {reason}"
    result.why = f"the job is {row.state}: {reason}"


def _clear_outage(worker: WorkerContext) -> None:
    worker.outage = None


async def _mark_loop_alive(session: WorkerSession, settings: Settings) -> None:
    while True:
        session.mark_loop_alive()
        await asyncio.sleep(settings.heartbeat_seconds / 4)
