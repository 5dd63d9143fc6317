"""Decide when a slice ends: when the process has to stop, or when it is another job's turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from enum import IntEnum

from db.queue.schedule import runnable_jobs
from lumos_queue.errors import DatabaseFailure
from workers.context import WorkerContext

log = logging.getLogger(__name__)
#: For workers to end after TERM, beyond `drain_seconds`: to give back items in flight, and to disconnect.
LEAVING_SECONDS = 4.0
MAX_SLICES = 10  #: a bounded slice lasts at most this many times `slice_seconds`, even if no other job waits


class StopSignal(IntEnum):
    """The answer to a slice that asks whether to end. False and True are equal to CONTINUE and DRAIN."""

    CONTINUE = 0  #: continue claiming
    DRAIN = 1  #: claim nothing more, finish items in flight
    LEAVE = 2  #: the process ends: the same, but give back items that take long and continue from checkpoints
    ABORT = 3  #: give back items in flight


#: The function that a slice calls repeatedly.
ShouldEnd = Callable[[], int]


class StopPolicy:
    """The function `ShouldEnd` of one slice, as an object. A call never waits for the database."""

    def __init__(
        self,
        context: WorkerContext,
        job: str,
        pools: Sequence[str],
        stop: Callable[[], bool],
        *,
        is_bounded: bool = False,
        alone: bool = False,
    ):
        """`alone`: no other job gets a turn. `is_bounded`: end after MAX_SLICES in any case."""
        self._context, self._job, self._pools, self._stop = context, job, pools, stop
        self._is_bounded, self._alone = is_bounded, alone
        self._start_time = self._look_time = time.monotonic()
        self._stop_time: float | None = None
        self._others_wait = False
        self.reason = ""  #: why the slice has to end, as text; empty while it may continue

    def __call__(self) -> StopSignal:
        now, settings = time.monotonic(), self._context.settings
        if self._stop():
            self.reason = "the worker is stopping"
            self._stop_time = self._stop_time or now
            return StopSignal.ABORT if now - self._stop_time > settings.drain_seconds else StopSignal.LEAVE
        elapsed_seconds = now - self._start_time
        if self._is_bounded and elapsed_seconds > MAX_SLICES * settings.slice_seconds:
            self.reason = "the slice's time was over"
            return StopSignal.DRAIN
        if self._alone or elapsed_seconds < settings.slice_seconds:
            return StopSignal.CONTINUE
        if not self._others_wait and now - self._look_time > settings.poll_seconds:
            self._look_time = now
            # In a thread, because the slice calls this in its event loop, which must not wait for a database.
            threading.Thread(target=self._look, name="look for others", daemon=True).start()
        if self._others_wait:
            self.reason = "another job's turn"
            return StopSignal.DRAIN
        return StopSignal.CONTINUE

    def _look(self) -> None:
        try:
            self._others_wait = bool(runnable_jobs(self._context.database, self._pools, beside=self._job))
        except DatabaseFailure as error:
            log.warning("could not look for other jobs: %s", error.reason)
