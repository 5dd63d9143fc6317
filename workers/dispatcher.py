"""The dispatcher: looks for owed items and runs slices on them, with no message from anybody.

Beside Celery it is what makes a lost message or a dead broker cost seconds. In the embedded default it is the whole
deployment, in the process that submitted the job.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence

from db.jobs import runnable, settle, unsettled
from workers.process import Process
from workers.work import work_on

log = logging.getLogger(__name__)


class Dispatcher:
    """Runs one slice at a time, of any job in `pools`, or of `only` one job until nothing of it is owed."""

    def __init__(self, process: Process, pools: Sequence[str], only: str | None = None):
        self.process, self.pools, self.only = process, pools, only

    def run(self, stop: Callable[[], bool]) -> None:
        """Until `stop` says so; with `only`, until that job has ended."""
        settings, idle = self.process.settings, 0
        while not stop():
            for job in unsettled(self.process.database):
                settle(self.process.database, job)
            due = runnable(self.process.database, self.pools)
            if self.only:
                due = [job for job in due if job == self.only]
            if due:
                idle = 0
                work_on(due[0], self.process.presence, settings, self._ender(due[0], stop))
                continue
            if self.only and self._ended():
                return
            idle += 1
            self._sleep(stop, settings.poll_seconds * min(1 + idle / 4, 3) * random.uniform(0.5, 1.0))

    def _ender(self, job: str, stop: Callable[[], bool]) -> Callable[[], bool]:
        """A slice ends at once when told to stop, after a while when another job of its pools waits."""
        ends_at = time.monotonic() + self.process.settings.slice_seconds
        looked_at = 0.0
        others = False

        def should_end() -> bool:
            nonlocal looked_at, others
            if stop():
                return True
            if self.only or time.monotonic() < ends_at:
                return False
            if time.monotonic() - looked_at > self.process.settings.poll_seconds:
                looked_at = time.monotonic()
                others = any(other != job for other in runnable(self.process.database, self.pools))
            return others

        return should_end

    def _ended(self) -> bool:
        from db.jobs import get_job

        assert self.only is not None
        with self.process.database.engine.connect() as connection:
            return get_job(connection, self.only).state not in ("queued", "running", "cancelling")

    @staticmethod
    def _sleep(stop: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not stop() and time.monotonic() < until:
            time.sleep(0.05)
