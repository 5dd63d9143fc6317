"""A thread that notices a silent database, and work that continues after TERM. It has no connection of the database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Self

from lumos_queue.util.wording import format_clock, format_limit
from workers.context import WorkerContext
from workers.stop_signal import LEAVING_SECONDS

LOOK_SECONDS = 0.25  #: between two checks
LAST_SECONDS = 1.0  #: for ending the session in the database before the process is ended
log = logging.getLogger(__name__)


class Watchdog:
    """Closes connections that were silent for a lease. Calls the worker's `on_hang` if work continues after TERM."""

    def __init__(self, worker: WorkerContext, stop: Callable[[], bool], over: threading.Event | None = None):
        """`stop`: tells the thread whether the process has to end. `over`: the caller sets it to end the watch."""
        self._worker, self._stop = worker, stop
        self._over = over or threading.Event()
        self._stop_time = self._silence_start = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def start(self) -> None:
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look_at_the_database()
            self._look_at_the_clock()

    def _look_at_the_database(self) -> None:
        deployment = self._worker.deployment
        database, lease = deployment.database_if_open, deployment.lease
        if database is None or (connections := database.connections) is None:
            return
        silent = connections.silent_seconds()
        if not self._silence_start and silent > lease.notice_seconds:
            self._silence_start = time.monotonic() - silent
            since = format_clock(time.time() - silent)
            log.warning(
                "the database has not answered since %s (%.0f s): after %g s this process gives up its items, after "
                "%g s it cuts its connections and tries new ones",
                since,
                silent,
                deployment.settings.fence_seconds,
                lease.seconds,
            )
        elif self._silence_start and connections.heard_at > self._silence_start:
            log.warning("the database answers again, after %.0f s", connections.heard_at - self._silence_start)
            self._silence_start = 0.0
        if count := connections.close_silent(lease.seconds):
            log.error("cut %d connections on which the database was silent for too long", count)

    def _look_at_the_clock(self) -> None:
        if not self._stop():
            return
        self._stop_time = self._stop_time or time.monotonic()
        max_seconds = self._worker.settings.drain_seconds + LEAVING_SECONDS
        if time.monotonic() - self._stop_time < max_seconds - LAST_SECONDS:
            return
        # Its items are pending again at once if the database answers, otherwise when the lease ends.
        threading.Thread(target=self._worker.end_session, daemon=True).start()
        if not self._over.wait(LAST_SECONDS):
            self._worker.on_hang(f"still at work {format_limit(max_seconds)} after the stop request")
            self._over.set()
