"""Threads beside the faults: they submit jobs and measure memory."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import defaultdict
from contextlib import suppress

from sqlalchemy import text

from db.kinds.job_kinds import JobKind
from lumos_queue.errors import DatabaseFailure
from tests.campaign.site import Site
from tests.campaign.streams import LOW, Stream
from tests.campaign.up import GONE
from workers.notify import notify_workers

MEMORY_EVERY = 2.0  #: seconds
NOTIFY_EVERY = 10  #: seconds: killed workers and a broken broker lose messages, and the dispatcher is a single process
log = logging.getLogger(__name__)


class Feeder(threading.Thread):
    """Submits the next job of a stream when few of its items are pending, and notifies the workers."""

    def __init__(self, site: Site):
        super().__init__(name="feeder", daemon=True)
        self._site, self._stop_event = site, threading.Event()
        self.looks, self.dry = 0, defaultdict(int)  #: looks at a stream, and looks without pending items by stream
        self.problem = ""
        self.submitting = True  #: until the last fault is over; notifications continue

    def run(self) -> None:
        for look in itertools.count():
            if self._stop_event.wait(1.0):
                return
            for stream in self._site.streams:
                try:
                    if self.submitting:
                        self.feed(stream)
                    if look % NOTIFY_EVERY == 0:
                        self.notify(stream)
                except DatabaseFailure as error:
                    log.info("not submitted: %s", error.reason)
                except Exception as error:
                    self.problem = f"{type(error).__name__}: {error}"

    def feed(self, stream: Stream) -> None:
        site, pending = self._site, self._site.count_pending(stream) if stream.jobs else 0
        self.looks += 1
        if not pending and stream.jobs:
            self.dry[stream.kind.name] += 1
        if pending < LOW:
            job, items = stream.submit_next(site.database, site.settings)
            notify_workers(site.settings, JobKind.EVALUATE, job, items)

    def notify(self, stream: Stream) -> None:
        """Notify the workers again of each job that is not over."""
        query = text("SELECT id FROM job WHERE id = ANY(:jobs) AND state IN ('queued', 'running')")
        with self._site.database.engine.connect() as connection:
            for job in connection.execute(query, {"jobs": stream.jobs}).scalars().all():
                notify_workers(self._site.settings, JobKind.EVALUATE, job, 1)

    def stop(self) -> None:
        self._stop_event.set()
        self.join()


class Memory(threading.Thread):
    """Measures the peak resident memory, in bytes, of the processes of each role."""

    def __init__(self, site: Site):
        super().__init__(name="memory", daemon=True)
        self._site, self._stop_event = site, threading.Event()
        self.most: defaultdict[str, int] = defaultdict(int)

    def run(self) -> None:
        while not self._stop_event.wait(MEMORY_EVERY):
            for role, process in self._site.up.processes():
                with suppress(*GONE):
                    self.most[role] = max(self.most[role], process.memory_info().rss)

    def stop(self) -> None:
        self._stop_event.set()
        self.join()


def wait_until_done(site: Site, seconds: float) -> float:
    """Wait until all jobs are over, at most so many seconds; return the seconds that passed."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        if site.ask("SELECT count(*) FROM job WHERE state IN ('queued', 'running', 'cancelling')") == 0:
            break
        time.sleep(0.5)
    return time.monotonic() - began
