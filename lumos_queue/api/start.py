"""Store jobs and start them: in a thread of this process, or in the workers of a deployment."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import logging
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from db.kinds.states import JobState
from db.queries.jobs import get_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.deployment.forks import refuse_sqlite
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.settings import Settings
from lumos_queue.submission.extend import remark_on_extend
from lumos_queue.submission.store import Rows, submit
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.util.wording import plural
from workers.embedded_run import EmbeddedRun
from workers.watchdog import Watchdog

R = TypeVar("R")
STOPPED = (JobState.DONE, JobState.CANCELLED, JobState.PAUSED, JobState.FAILED)
log = logging.getLogger("lumos_queue")
#: The jobs that threads of this process work on, by database and id.
_runs: dict[tuple[str, str], EmbeddedRun] = {}
_abandoned_runs: list[EmbeddedRun] = []  #: earlier runs of these jobs whose threads hang
_runs_lock = threading.Lock()


def store_job(
    deployment: Deployment,
    job: Job,
    rows: Rows | None,
    options: SubmitOptions,
    say: Callable[[str], None],
    windows: int = 0,
) -> tuple[Any, bool]:
    """Store a job. Return its row, and whether it is new. `say` is called with each remark for the user, as a line."""
    job_database = deployment.create()
    if not options.again and (remark := remark_on_extend(job_database, deployment.settings, job)):
        say(remark)
    identifier, new = submit(job_database, deployment.settings, job, rows, options, windows)
    with job_database.engine.connect() as connection:
        row = get_job(connection, identifier)
    if rows and rows.bad:
        skipped_rows = plural(len(rows.bad), "bad row")
        say(f"skipped {skipped_rows} of {len(rows.bad) + len(rows.tasks)}; the first: {rows.bad[0]}")
    return row, new


def begin_job(deployment: Settings, row: Any) -> None:
    """Start the work on a stored job (its row), unless it has stopped.

    Without a broker a thread of this process does the work. When the process ends, the thread stops after its current
    items; a thread that hangs is abandoned, because the process belongs to the user's program. Raises SpecError when
    this process does not have the plug-ins that the job needs.
    """
    if row.state in STOPPED:
        return
    if deployment.broker_url:
        from workers.notify import notify_workers

        if not notify_workers(deployment, row.kind, row.id, row.items, row.pool):
            log.warning("the broker does not answer: a dispatcher will find the job without it")
        return
    check_plugins(row)
    with _runs_lock:
        key = deployment.database, row.id
        run = _runs.get(key)
        if run is None or not run.go_on():
            if run is not None and run.is_abandoned:
                _abandoned_runs.append(run)
            own = Deployment(deployment)
            _runs[key] = run = EmbeddedRun(own, row.id, ends_process=False, at_end=own.close)
            if run.remark:
                log.warning(run.remark)
            Watchdog(run.context, run.stop.is_set, run.over).start()
            run.start()


def run_of(deployment: Settings, job: str) -> EmbeddedRun | None:
    """Return the thread of this process that works, or worked, on a job, or None if no thread did."""
    return _runs.get((deployment.database, job))


def call_outside_loop(function: Callable[[], R]) -> R:
    """Call a function that may start an event loop; use a new thread if this thread runs a loop, as in notebooks."""
    try:
        asyncio.get_running_loop()
        runs = True
    except RuntimeError:
        runs = False
    if not runs:  # outside the `except`, whose error would become the context of the function's errors
        return function()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def _drain() -> None:
    for run in list(_runs.values()):
        run.stop.set()
    for run in list(_runs.values()):
        run.close()
    if any(run.is_abandoned for run in (*_abandoned_runs, *_runs.values())):
        _leave_daemon_threads()


def _leave_daemon_threads() -> None:
    """Let the interpreter end without waiting for executor threads that hanging daemon threads started."""
    queues: Any = concurrent.futures.thread._threads_queues  # type: ignore[attr-defined]
    for thread in [thread for thread in queues if thread.daemon]:
        queues.pop(thread, None)


def _forget_runs() -> None:
    """Forget the runs of the parent, whose threads do not exist in this forked child."""
    global _runs_lock
    if not all(run.over.is_set() for run in _runs.values()):
        refuse_sqlite()
    _runs.clear()
    _abandoned_runs.clear()
    _runs_lock = threading.Lock()


# Threads need their executors until they have drained, so this runs before executors shut down; `atexit` is too late.
# The hook of the executors is registered when their module is imported, and hooks run in reverse order.
threading._register_atexit(_drain)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_forget_runs)
