"""Live jobs: one thread reads the jobs of all open pages, and pauses between two readings.

The number of open pages does not matter: the thread reads the database for at most a twentieth of the time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress

from db.engine.connection import Connection, Database
from lumos_queue.errors import DatabaseFailure, InfrastructureError
from lumos_queue.live.watched_jobs import ENDED, WatchedJob, WatchedJobs
from lumos_queue.settings import Settings
from lumos_queue.web.errors import Busy

MIN_PAUSE, MAX_PAUSE = 0.5, 4.0  #: seconds between two readings
SHARE = 20  #: a pause is this many times as long as the reading before it
MAX_PAGES = 50  #: that a person has open at once
Parts = Mapping[str, str]  #: the texts of the live parts of a page, by name
LIVE = "live"  #: the name of the part that every page has
UNREADABLE = {LIVE: "<p>This job cannot be shown live: its rows are damaged. See the log of lumos web.</p>"}
_LOG = logging.getLogger(__name__)
Show = Callable[[WatchedJob, WatchedJobs], Parts]


class _Page:
    """An open page, with the latest parts that wait to be sent to it."""

    def __init__(self, job: str, person: str, show: Show):
        self.job, self.person, self.show = job, person, show
        self.sent_parts: Parts = {}
        self._loop, self._next = asyncio.get_running_loop(), asyncio.Queue[tuple[Parts, bool]](maxsize=1)

    def show_job(self, job: WatchedJob, watch: WatchedJobs) -> None:
        """Send all parts of the page if a part has changed."""
        parts = self.show(job, watch)
        if parts != self.sent_parts:
            self.sent_parts = parts
            self.send(parts, job.state in ENDED and not watch.silence)

    def send(self, parts: Parts, last: bool) -> None:
        with suppress(RuntimeError):  # its loop has ended
            self._loop.call_soon_threadsafe(self._replace, (parts, last))

    def _replace(self, item: tuple[Parts, bool]) -> None:
        if self._next.full():
            self._next.get_nowait()
        self._next.put_nowait(item)

    async def receive(self) -> tuple[Parts, bool]:
        return await self._next.get()


class LiveJobs:
    """Follows jobs for pages."""

    def __init__(self, database: Database, settings: Settings):
        self._database, self._settings = database, settings
        self._condition = threading.Condition()
        self._pages: set[_Page] = set()
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    async def follow(self, job: str, person: str, show: Show) -> AsyncIterator[tuple[Parts, bool]]:
        """Yield the parts that `show` makes of the job whenever one changes, and whether they are the last.

        They are the last of a job that has ended, or that cannot be read, which they report. Nothing follows when the
        server ends, or if the person has opened MAX_PAGES pages since `require_place`.
        """
        page = _Page(job, person, show)
        with self._condition:
            if not self._has_place(person):
                return
            self._pages.add(page)
            if self._thread is None:
                self._thread = threading.Thread(target=self._read_on, name="live jobs", daemon=True)
                self._thread.start()
            self._condition.notify()
        try:
            last = False
            while not last:
                parts, last = await page.receive()
                if self._is_stopped:
                    return
                yield parts, last
        finally:
            with self._condition:
                self._pages.discard(page)

    def require_place(self, person: str) -> None:
        """Raise Busy if the person has MAX_PAGES pages open. A route calls this before its answer begins."""
        with self._condition:
            if not self._has_place(person):
                raise Busy(f"You have {MAX_PAGES} live pages open: close some.")

    def _has_place(self, person: str) -> bool:
        return sum(page.person == person for page in self._pages) < MAX_PAGES

    def stop(self) -> None:
        """End all live pages, because the server ends."""
        with self._condition:
            self._is_stopped = True
            for page in self._pages:
                page.send({}, True)
            self._condition.notify()

    def _read_on(self) -> None:
        watch = WatchedJobs(self._settings, ["none"], with_curves=True)
        while True:
            with self._condition:
                while not self._pages and not self._is_stopped:
                    self._condition.wait()
                if self._is_stopped:
                    return
                pages = list(self._pages)
            start = time.monotonic()
            try:
                self._update(watch, pages)
            except Exception:  # the pages of all people depend on this thread
                _LOG.exception("live pages could not be updated")
            pause = min(max(MIN_PAUSE, SHARE * (time.monotonic() - start)), MAX_PAUSE)
            self._rest(MAX_PAUSE if watch.silence else pause, set(pages))

    def _update(self, watch: WatchedJobs, pages: Collection[_Page]) -> None:
        """Read the jobs of the pages, and send each page its parts. A page that fails ends, and no other page does."""
        jobs = sorted({page.job for page in pages})
        watch.choose(jobs)
        unreadable_jobs = self._read(watch, jobs)
        for page in pages:
            try:
                if page.job in unreadable_jobs:
                    page.send(UNREADABLE, True)
                else:
                    page.show_job(watch.find(page.job), watch)
            except Exception:  # the other pages continue
                _LOG.exception("the live page of job %s failed", page.job)
                page.send(UNREADABLE, True)

    def _read(self, watch: WatchedJobs, jobs: Collection[str]) -> set[str]:
        """Read the jobs. Return those that cannot be read, which are no longer watched."""
        try:
            with self._database.engine.connect() as connection:
                try:
                    watch.read(connection)
                except DatabaseFailure:
                    raise
                except Exception:  # the rows of a job are damaged
                    return self._read_separately(watch, jobs, connection)
        except InfrastructureError as error:
            message = error.driver_message if isinstance(error, DatabaseFailure) else str(error)
            watch.silence = " ".join(message.split())[:200]
        return set()

    def _read_separately(self, watch: WatchedJobs, jobs: Collection[str], connection: Connection) -> set[str]:
        """Find the jobs whose rows cannot be read, and read the others."""
        unreadable_jobs = set()
        for job in jobs:
            try:
                watch.choose([job])
                watch.read(connection)
            except DatabaseFailure:
                raise
            except Exception:  # this job is the damaged one
                _LOG.exception("job %s cannot be shown live", job)
                unreadable_jobs.add(job)
        watch.choose([job for job in jobs if job not in unreadable_jobs])
        watch.read(connection)
        return unreadable_jobs

    def _rest(self, seconds: float, pages: set[_Page]) -> None:
        """Pause, until the time is over or a new page waits for its first text."""
        until = time.monotonic() + seconds
        with self._condition:
            while not self._is_stopped and not self._pages - pages and (remaining := until - time.monotonic()) > 0:
                self._condition.wait(remaining)
