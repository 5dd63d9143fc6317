"""Work on one job for a while: open what it needs, run a slice, settle it. What every kind of worker calls."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from functools import partial

from sqlalchemy.exc import DBAPIError

from db.errors import reason, retryable
from db.fence import Fenced
from db.jobs import begin_work, find_job, gets_on, put_off, settle
from lumos_queue.errors import EndpointDown, InfrastructureError, SpecError
from lumos_queue.jobs.registry import read_job
from lumos_queue.settings import Settings
from workers.context import Process
from workers.event_loop import run_on_loop
from workers.session import Presence
from workers.slice import Slice
from workers.writer import CommitRefused

log = logging.getLogger(__name__)
WAIT_SECONDS = 5.0  #: before an endpoint that does not answer is asked again
FAULT_SECONDS = 60.0  #: before a job that met a fault of ours is begun again


def attempt(process: Process, job_id: str, should_end: Callable[[], int]) -> bool:
    """`work_on`, for a process that must outlive any job; returns whether the slice came to a regular end.

    After a failure the process leaves its worker session, so that what it held is owed again at once.
    Raises DBAPIError or InfrastructureError when the database is what failed.
    """
    try:
        work_on(process, job_id, should_end)
        return True
    except (DBAPIError, InfrastructureError):
        process.leave()
        raise
    except Exception as error:
        log.exception("a slice of job %s failed", job_id)
        process.leave()
        put_off(process.database, job_id, f"fault: {type(error).__name__}: {error}", FAULT_SECONDS)
        return False


def work_on(process: Process, job_id: str, should_end: Callable[[], int]) -> int:
    """Run one slice of a job; returns how many items it finished.

    The event loop gets a thread of its own: a shutdown that raises SystemExit in the main thread, at any instruction,
    then cannot tear a commit. An outage that stops it stays in `process.outage`.
    """
    presence = process.presence  # opened in the thread that owns the process
    finished = 0
    failure: BaseException | None = None

    def body() -> None:
        nonlocal finished, failure
        try:
            finished = run_on_loop(_slice(process, presence, job_id, should_end))
        except BaseException as error:  # handed over to the thread that waits
            failure = error

    thread = threading.Thread(target=body, name=f"slice-{job_id}")
    thread.start()
    thread.join()
    if failure:
        presence.declare_lost()  # it beats no more: what it holds comes back when the lease ends, if not before
        raise failure
    return finished


async def _slice(process: Process, presence: Presence, job_id: str, should_end: Callable[[], int]) -> int:
    database, settings = presence.database, process.settings
    with database.engine.connect() as connection:
        row = find_job(connection, job_id)
    if row is None:
        log.info("job %s was removed", job_id)
        return 0
    job = read_job(row.kind, row.spec)
    presence.work_on(row.id)
    moving = asyncio.create_task(_show_that_the_loop_moves(presence, settings))
    try:
        async with job.open(settings) as context:
            begin_work(database, row.id, getattr(context, "identities", ()))
            await asyncio.to_thread(presence.use, getattr(context, "traffic", {}))
            part = Slice(presence, row, job, context, should_end, on_finish=partial(_over, process))
            await part.run()
        if part.finished and row.waits:
            gets_on(database, row.id)
        if part.down:
            raise part.down
        return part.finished
    except Fenced as error:
        presence.declare_lost()
        log.error("%s: stopped without writing", error)
        return 0
    except (DBAPIError, CommitRefused) as error:
        presence.declare_lost()
        if retryable(error):
            raise
        # Sending it again would not help, and no item is to blame: a person has to see to it.
        put_off(database, row.id, f"database: {reason(error)}", FAULT_SECONDS)
        log.error("job %s waits for the database: %s", row.id, reason(error))
        return 0
    except (InfrastructureError, SpecError) as error:
        # Nothing could start: no item is charged, the job says what it waits for.
        process.outage = error if isinstance(error, EndpointDown) else EndpointDown(str(error))
        put_off(database, row.id, f"endpoint: {error}", WAIT_SECONDS)
        log.warning("job %s waits: %s", row.id, error)
        return 0
    finally:
        moving.cancel()
        presence.leave(row.id)
        if not presence.lost:
            settle(database, row.id)


def _over(process: Process) -> None:
    process.outage = None


async def _show_that_the_loop_moves(presence: Presence, settings: Settings) -> None:
    while True:
        presence.loop_moves()
        await asyncio.sleep(settings.heartbeat_seconds / 4)
