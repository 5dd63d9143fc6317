"""When a slice ends: because the process is told to stop, or because it is another job's turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from enum import IntEnum

from sqlalchemy.exc import DBAPIError

from db.jobs import runnable
from workers.context import Process

log = logging.getLogger(__name__)
#: For workers to end after TERM, beyond `drain_seconds`: to give back what is in flight, to leave database and broker.
LEAVING_SECONDS = 4.0
LONGEST = 10  #: a bounded slice lasts at most so many times `slice_seconds`, even if no other job waits


class Ending(IntEnum):
    """What a slice is told when it asks. Plain True and False will do for NOT_YET and NO_MORE."""

    NOT_YET = 0
    NO_MORE = 1  #: claim nothing more, finish what is in flight
    NOW = 2  #: give back what is in flight


class Ender:
    """Asked by one slice, again and again; answers at once."""

    def __init__(
        self, process: Process, job: str, pools: Sequence[str], stop: Callable[[], bool], *, bounded: bool = False,
        alone: bool = False,
    ):  # fmt: skip
        """`alone`: no other job gets a turn. `bounded`: end some time in any case."""
        self.process, self.job, self.pools, self.stop, self.bounded, self.alone = (
            process, job, pools, stop, bounded, alone,
        )  # fmt: skip
        self._started = self._looked_at = time.monotonic()
        self._stopped_at: float | None = None
        self._others_wait = False

    def __call__(self) -> Ending:
        now, settings = time.monotonic(), self.process.settings
        if self.stop():
            self._stopped_at = self._stopped_at or now
            return Ending.NOW if now - self._stopped_at > settings.drain_seconds else Ending.NO_MORE
        spent = now - self._started
        if self.bounded and spent > LONGEST * settings.slice_seconds:
            return Ending.NO_MORE
        if self.alone or spent < settings.slice_seconds:
            return Ending.NOT_YET
        if not self._others_wait and now - self._looked_at > settings.poll_seconds:
            self._looked_at = now
            # In a thread: the slice asks from its event loop, which must not wait for a database.
            threading.Thread(target=self._look, name="look for others", daemon=True).start()
        return Ending.NO_MORE if self._others_wait else Ending.NOT_YET

    def _look(self) -> None:
        try:
            self._others_wait = bool(runnable(self.process.database, self.pools, beside=self.job))
        except DBAPIError as error:
            log.warning("could not look for other jobs: %s", str(error).splitlines()[0])
