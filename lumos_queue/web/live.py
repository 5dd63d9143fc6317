"""Live jobs: one thread reads the jobs of all open pages, and pauses between two readings.

The number of open pages does not matter: the thread reads the database for at most a twentieth of the time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from sqlalchemy.exc import DBAPIError

from db.connection import Database
from lumos_queue.errors import InfrastructureError
from lumos_queue.live.watched_jobs import ENDED, WatchedJob, WatchedJobs
from lumos_queue.settings import Settings

MIN_PAUSE, MAX_PAUSE = 0.5, 4.0  #: seconds between two readings
SHARE = 20  #: a pause is this many times as long as the reading before it
MAX_PAGES = 200  #: open at once
Show = Callable[[WatchedJob, WatchedJobs], str]


class TooManyPages(Exception):
    """Raised when more than MAX_PAGES pages are open."""


class _Page:
    """An open page, with the latest text that waits to be sent to it."""

    def __init__(self, job: str, show: Show):
        self.job, self.show = job, show
        self._loop, self._next = asyncio.get_running_loop(), asyncio.Queue[tuple[str, bool]](maxsize=1)

    def send(self, text: str, last: bool) -> None:
        with suppress(RuntimeError):  # its loop has ended
            self._loop.call_soon_threadsafe(self._replace, (text, last))

    def _replace(self, item: tuple[str, bool]) -> None:
        if self._next.full():
            self._next.get_nowait()
        self._next.put_nowait(item)

    async def receive(self) -> tuple[str, bool]:
        return await self._next.get()


class LiveJobs:
    """Follows jobs for pages."""

    def __init__(self, database: Database, settings: Settings):
        self._database, self._settings = database, settings
        self._condition = threading.Condition()
        self._pages: set[_Page] = set()
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    async def follow(self, job: str, show: Show) -> AsyncIterator[tuple[str, bool]]:
        """Yield the text that `show` makes of the job whenever it changes, and whether it is the last of an ended job.

        Raises TooManyPages.
        """
        page = _Page(job, show)
        with self._condition:
            if len(self._pages) >= MAX_PAGES:
                raise TooManyPages
            self._pages.add(page)
            if self._thread is None:
                self._thread = threading.Thread(target=self._read_on, name="live jobs", daemon=True)
                self._thread.start()
            self._condition.notify()
        try:
            last = False
            while not last:
                text, last = await page.receive()
                if self._is_stopped:
                    return
                yield text, last
        finally:
            with self._condition:
                self._pages.discard(page)

    def stop(self) -> None:
        """End all live pages, because the server ends."""
        with self._condition:
            self._is_stopped = True
            for page in self._pages:
                page.send("", True)
            self._condition.notify()

    def _read_on(self) -> None:
        watch: WatchedJobs | None = None
        sent_texts: dict[_Page, str] = {}
        while True:
            with self._condition:
                while not self._pages and not self._is_stopped:
                    self._condition.wait()
                if self._is_stopped:
                    return
                pages = list(self._pages)
            start, jobs = time.monotonic(), sorted({page.job for page in pages})
            watch = watch or WatchedJobs(self._settings, jobs)
            watch.choose(jobs)
            self._look(watch)
            sent_texts = {page: sent_texts.get(page, "") for page in pages}
            for page in pages:
                job = watch.find(page.job)
                text = page.show(job, watch)
                if text != sent_texts[page]:
                    sent_texts[page] = text
                    page.send(text, job.state in ENDED and not watch.silence)
            pause = min(max(MIN_PAUSE, SHARE * (time.monotonic() - start)), MAX_PAUSE)
            self._rest(MAX_PAUSE if watch.silence else pause, set(pages))

    def _look(self, watch: WatchedJobs) -> None:
        try:
            with self._database.engine.connect() as connection:
                watch.read(connection)
        except (DBAPIError, InfrastructureError) as error:
            watch.silence = " ".join(str(getattr(error, "orig", None) or error).split())[:200]

    def _rest(self, seconds: float, pages: set[_Page]) -> None:
        """Pause, until the time is over or a new page waits for its first text."""
        until = time.monotonic() + seconds
        with self._condition:
            while not self._is_stopped and not self._pages - pages and (remaining := until - time.monotonic()) > 0:
                self._condition.wait(remaining)
