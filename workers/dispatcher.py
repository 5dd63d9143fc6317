"""The dispatcher looks for pending items and runs slices on them, without waiting for a message.

With Celery, it runs beside the workers, so that a lost message or a dead broker costs only seconds. Without a broker,
the process that submitted the job runs a dispatcher, and no other process is needed.
"""

from __future__ import annotations

import logging
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence

from db.engine.errors import reason
from db.kinds.pools import Pool, can_run
from db.kinds.states import OPEN, STOPPED, JobState
from db.queries.jobs import get_job
from db.queue.job_changes import finish_if_idle
from db.queue.schedule import JobToAnnounce, find_idle_jobs, list_awaited_jobs, load_to_announce, runnable_jobs
from db.queue.sessions import live_sessions
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings
from workers.context import WorkerContext
from workers.notify import notify_workers
from workers.open_files import allow_open_files
from workers.run import run_slice, try_slice
from workers.stop_signal import StopPolicy
from workers.watchdog import Watchdog

log = logging.getLogger(__name__)
NOTIFY_SECONDS = 10.0  #: at least, between two rounds of messages that bring idle workers back


def serve(settings: Settings, pools: Sequence[str]) -> None:
    """Run a host's dispatcher until TERM or Ctrl-C. Raises SpecError when the database is at another revision."""
    if too_few := allow_open_files(settings):
        log.warning("%s", too_few)
    stop_event = threading.Event()

    def stop(*_: object) -> None:
        stop_event.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    worker = WorkerContext(Deployment(settings), pools)
    # With a broker, the processes that receive its messages come first: this process runs the jobs that they missed.
    patience = 2 * settings.poll_seconds if settings.broker_url else 0.0
    log.info("looking for jobs of %s every %g s", ", ".join(pools), settings.poll_seconds)
    with Watchdog(worker, stop_event.is_set):
        try:
            if set(pools) == {Pool.GPU} and not worker.can_run(Pool.GPU):
                log.warning("this process finds no GPU and serves no other pool: it takes no job")
            Dispatcher(worker, pools, patience=patience).run(stop_event.is_set)
        finally:
            worker.close()


class Dispatcher:
    """Runs one slice at a time: of any job in `pools`, or of the job `only` until that job has ended.

    A job for which `only` waits is run, too. After the process has found no GPU, it runs no jobs of the pool `gpu`.
    """

    def __init__(self, worker: WorkerContext, pools: Sequence[str], only: str | None = None, patience: float = 0.0):
        """`patience`: for so many seconds after the submission of a job, only other processes work on it."""
        self.worker, self.pools, self.only, self.patience = worker, pools, only, patience
        self._last_job = ""  # the job of the last slice: other jobs have their turn first
        self._notification_time = time.monotonic()

    def run(self, stop: Callable[[], bool]) -> None:
        """Run slices until `stop` returns True or the job `only` has ended. If the database fails, try again later."""
        idle = 0
        while not stop():
            try:
                has_worked = self._look_and_work(stop)
                if self.only and self._is_over():
                    return
            except InfrastructureError as error:
                log.warning("the database failed, trying again: %s", reason(error))
                has_worked = False
            idle = 0 if has_worked else idle + 1
            if not has_worked:
                self._sleep(stop, self.worker.settings.poll_seconds * min(1 + idle / 4, 3) * random.uniform(0.5, 1.0))

    def _look_and_work(self, stop: Callable[[], bool]) -> bool:
        """Finish jobs that have no remaining items, and run a slice if a job is due; return whether a slice ran."""
        database = self.worker.database
        # First, because items of dead processes are not due until these are declared dead.
        self.worker.session.reap()
        for job in find_idle_jobs(database):
            finish_if_idle(database, job)
        pools = self._usable_pools
        due = runnable_jobs(database, pools, self.patience, after=self._last_job)
        if not self.only:
            self._last_job = due[0] if due else self._last_job
            other_pools = [pool for pool in self.pools if pool not in pools]
            self._bring_workers_back(
                [*due, *(runnable_jobs(database, other_pools, self.patience) if other_pools else ())]
            )
            policy = StopPolicy(self.worker, due[0], pools, stop) if due else None
            return policy is not None and not try_slice(self.worker, due[0], policy).fault
        due_jobs = [job for job in list_awaited_jobs(database, self.only) if job in due]
        if not due_jobs:
            return False
        self._run_slice(self.only, due_jobs[0], stop)
        return True

    def _run_slice(self, only: str, job: str, stop: Callable[[], bool]) -> None:
        """Run a slice of `job`, which is `only` or a job that it waits for. The slice ends if `only` is stopped."""
        session = self.worker.session
        session.work_on(only)

        def is_told() -> bool:
            return stop() or session.states.get(only) in STOPPED

        try:
            # Not `try_slice`: the person who waits for this job must see a fault.
            run_slice(self.worker, job, StopPolicy(self.worker, job, self._usable_pools, is_told, alone=True))
        finally:
            session.leave(only)

    @property
    def _usable_pools(self) -> list[str]:
        return [pool for pool in self.pools if pool in self.worker.usable_pools]

    def _bring_workers_back(self, due: Sequence[str]) -> None:
        """Send a message for each job that is due, in a thread, because a broker may be slow.

        A worker continues from slice to slice by messages to itself. If the broker loses such a message, the worker
        would stay idle until the next job is submitted. No message is sent for a job that no live worker can run,
        because messages would pile up.
        """
        settings, now = self.worker.settings, time.monotonic()
        if not due or not settings.broker_url or now - self._notification_time <= NOTIFY_SECONDS:
            return
        self._notification_time = now
        with self.worker.database.engine.connect() as connection:
            jobs = load_to_announce(connection, due)
            sessions = live_sessions(connection, self.worker.deployment.lease)
        jobs = [job for job in jobs if any(can_run(session, job.pool) for session in sessions)]
        threading.Thread(target=_notify_all, args=(settings, jobs), name="notifications", daemon=True).start()

    def _is_over(self) -> bool:
        assert self.only is not None
        with self.worker.database.engine.connect() as connection:
            return get_job(connection, self.only).state not in (*OPEN, JobState.CANCELLING)

    @staticmethod
    def _sleep(stop: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stop() and time.monotonic() < until:
            time.sleep(0.05)


def _notify_all(settings: Settings, jobs: Sequence[JobToAnnounce]) -> None:
    for job in jobs:
        notify_workers(settings, job.kind, job.id, 1, job.pool)
