"""The four Celery tasks. Each has the name of a kind of job, and runs a slice of one job of that kind.

Only Celery workers import this file.
"""

from __future__ import annotations

import logging
import os

from celery.signals import worker_process_init, worker_process_shutdown

from db.engine.connection import Database
from db.engine.errors import reason
from db.kinds.job_kinds import JobKind
from db.kinds.states import OPEN, JobState
from db.queries.jobs import find_announced_job
from db.queue.schedule import runnable_jobs
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import InfrastructureError, SpecError
from workers.app import app, draining
from workers.context import current_context
from workers.describe import describe_job, shorten
from workers.idle import NOTHING_DUE, describe_idle
from workers.notify import notify_workers
from workers.presence import Presence
from workers.queues import get_served_pools
from workers.rejection_counter import close_rejected_messages, get_rejection_counter
from workers.run import try_slice
from workers.slice_failed import SliceFailed, SliceTask
from workers.stop_signal import StopPolicy
from workers.watchdog import Watchdog

log = logging.getLogger(__name__)
MAX_RESULT = 900  #: characters of a task's result: Celery truncates results to 1,024 in its events


@app.task(name="convert", base=SliceTask)
def convert(job: str) -> str:
    return serve_message(JobKind.CONVERT, job)


@app.task(name="train_shard", base=SliceTask)
def train_shard(job: str) -> str:
    return serve_message(JobKind.TRAIN, job)


@app.task(name="infer", base=SliceTask)
def infer(job: str) -> str:
    return serve_message(JobKind.INFER, job)


@app.task(name="evaluate", base=SliceTask)
def evaluate(job: str) -> str:
    return serve_message(JobKind.EVALUATE, job)


def serve_message(kind: JobKind, job: str) -> str:
    """Run a slice of the job that a message names, and send a message if more items are due.

    Return one line about the slice, which Flower shows. A message that names no existing job is refused. Raises
    SliceFailed when the slice met an outage or an internal error, and no other error: the worker must survive any
    message.
    """
    worker = current_context()
    try:
        row = _job_of(worker.database, kind, job)
        if row is None:
            get_rejection_counter().add("forged", f"no {kind} job has the id '{job}'")
            return f"refused: no {kind} job has the id '{job}'"
        if row.id not in runnable_jobs(worker.database, [row.pool]):
            # No item remains, or the job waits: a message from a pile must not begin it again.
            return _describe_idle_job(worker.database, row)
        policy = StopPolicy(worker, row.id, [row.pool], _should_stop, is_bounded=True)
        result = try_slice(worker, row.id, policy)
        if not result.fault and row.id in runnable_jobs(worker.database, [row.pool]):
            # Also if this process has found no GPU: its parent then gives such messages back (workers/queues.py).
            notify_workers(worker.settings, kind, row.id, 1, row.pool)
    except (InfrastructureError, SpecError) as error:
        problem = reason(error)
        log.warning("job %s left to the dispatcher: %s", job, problem)
        raise SliceFailed(shorten(f"job {job} left to the dispatcher: {problem}", MAX_RESULT)) from None
    summary = shorten(f"{describe_job(row)}: {result}", MAX_RESULT)
    if result.has_failed:
        raise SliceFailed(summary)
    return summary


def _describe_idle_job(database: Database, row: StoredJob) -> str:
    """Explain why no slice of the job was run. Raises SliceFailed when the job has failed."""
    if row.state == JobState.FAILED:
        failure = f"{describe_job(row)}: failed: job: {row.waiting.rstrip('.')}; nothing was done"
        raise SliceFailed(shorten(failure, MAX_RESULT))
    if row.waiting:
        why = f"nothing was done, it waits: {row.waiting}"
    else:
        why = describe_idle(database, row.id) if row.state in OPEN else NOTHING_DUE
    return shorten(f"{describe_job(row)}: {why}", MAX_RESULT)


def _job_of(database: Database, kind: JobKind, job: str) -> StoredJob | None:
    """Return the job that a message names, or None if no job of that kind exists: messages may be forged."""
    with database.engine.connect() as connection:
        return find_announced_job(connection, kind, job)


_parent = 0
_presence: Presence | None = None  # of this child


@worker_process_init.connect
def _child_starts(**_: object) -> None:
    global _parent, _presence
    _parent = os.getppid()
    worker = current_context()
    worker.pools = get_served_pools()
    Watchdog(worker, _should_stop).start()
    _presence = Presence(worker)


@worker_process_shutdown.connect
def _child_ends(**_: object) -> None:
    if _presence:
        _presence.close()
    close_rejected_messages()
    current_context().close()


def _should_stop() -> bool:
    """Whether this process should stop: Celery's parent process has received TERM, or has ended."""
    return draining() or (_parent != 0 and os.getppid() != _parent)
