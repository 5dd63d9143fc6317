"""The four Celery tasks. Their names are the domain's; what they do is the same: a slice of one job.

Only Celery workers import this file. What it imports is loaded before they fork, once for all children.
"""

from __future__ import annotations

import logging
import os

from celery.signals import worker_process_init, worker_process_shutdown
from sqlalchemy import Row, select
from sqlalchemy.exc import DBAPIError

import lumos_queue.jobs.convert
import lumos_queue.jobs.evaluate  # noqa: F401 - jobs are imported by kind otherwise, when the first message comes
from db.connection import Database
from db.jobs import runnable
from db.models import Job
from lumos_queue.errors import InfrastructureError
from workers.app import app, draining
from workers.context import current_process
from workers.notify import nudge
from workers.rejected import close_refusals, refusals
from workers.run import attempt
from workers.stop_signal import Ender
from workers.watchdog import Watchdog

log = logging.getLogger(__name__)


@app.task(name="convert")
def convert(job: str) -> None:
    run_slice("convert", job)


@app.task(name="train_shard")
def train_shard(job: str) -> None:
    run_slice("train", job)


@app.task(name="infer")
def infer(job: str) -> None:
    run_slice("infer", job)


@app.task(name="evaluate")
def evaluate(job: str) -> None:
    run_slice("evaluate", job)


def run_slice(kind: str, job: str) -> None:
    """Work on a job for a while and leave a nudge if more is due. A message that names no such job is refused.

    Raises nothing that a message could cause: the worker has to outlive it.
    """
    process = current_process()
    try:
        row = _job_of(process.database, kind, job)
        if row is None:
            refusals().add("forged", f"'{job}' is no {kind} job")
            return
        if row.id not in runnable(process.database, [row.pool]):
            return  # nothing left, or the job waits for something: messages that pile up must not begin it again
        ender = Ender(process, row.id, [row.pool], _told_to_stop, bounded=True)
        if attempt(process, row.id, ender) and row.id in runnable(process.database, [row.pool]):
            nudge(process.settings, kind, row.id, 1, row.pool)
    except (DBAPIError, InfrastructureError) as error:
        log.warning("job %s left to the dispatcher: %s", job, str(error).splitlines()[0])


def _job_of(database: Database, kind: str, job: str) -> Row | None:
    """Id and pool of the job that a message names; None when there is none of that kind. Messages may be forged."""
    with database.engine.connect() as connection:
        return connection.execute(select(Job.id, Job.pool).where(Job.id == job, Job.kind == kind)).first()


_parent = 0


@worker_process_init.connect
def _child_starts(**_) -> None:
    global _parent
    _parent = os.getppid()
    Watchdog(current_process(), _told_to_stop).start()


@worker_process_shutdown.connect
def _child_ends(**_) -> None:
    close_refusals()
    current_process().close()


def _told_to_stop() -> bool:
    """On TERM to the parent, or when it is gone: what it would hand out next can no longer arrive."""
    return draining() or (_parent != 0 and os.getppid() != _parent)
