"""A process's presence in the database: its session, and the heartbeat that keeps its items its own."""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy.exc import DBAPIError

from db.connection import Database
from db.fence import Fenced, beat, end_session, reap, start_session
from lumos_queue.settings import Settings

log = logging.getLogger(__name__)


class Presence:
    """Beats from its own thread and connection, so that no slow episode or long commit can silence it.

    But it beats only while the event loop moves: a process whose loop hangs should lose its items. And it stops its own
    process from writing (`lost`) when the last heartbeat that succeeded *started* longer ago than `fence_seconds`.
    """

    def __init__(self, database: Database, settings: Settings, code_version: str):
        self.database, self.settings, self.code_version = database, settings, code_version
        self.session = start_session(database, code_version)
        self.states: dict[str, str] = {}  #: of the jobs being worked on, as of the last heartbeat
        self._jobs: set[str] = set()
        self._alive_at = self._loop_at = time.monotonic()
        self._working = self._lost = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether this process may no longer write."""
        return self._lost or time.monotonic() - self._alive_at > self.settings.fence_seconds

    def declare_lost(self) -> None:
        """The database said so: this process is declared dead."""
        self._lost = True

    def work_on(self, job: str) -> None:
        self.loop_moves()
        self._jobs.add(job)
        self._working = True

    def leave(self, job: str) -> None:
        self._jobs.discard(job)
        self.states.pop(job, None)
        self._working = bool(self._jobs)

    def loop_moves(self) -> None:
        """Called by the event loop, again and again."""
        self._loop_at = time.monotonic()

    def close(self) -> None:
        """Leave in good order. A database that cannot be told finds out when the lease ends."""
        self._stop.set()
        self._thread.join(timeout=5)
        try:
            end_session(self.database, self.session)
        except DBAPIError as error:
            log.warning("could not end worker session %s: %s", self.session, error)

    def _run(self) -> None:
        next_reap = time.monotonic()
        while not self._stop.wait(self.settings.heartbeat_seconds):
            hung = self._working and time.monotonic() - self._loop_at > self.settings.fence_seconds
            if hung:
                log.error("the event loop hangs: heartbeat withheld")
                continue
            started = time.monotonic()
            try:
                self.states = beat(self.database, self.session, sorted(self._jobs))
                self._alive_at = started
                if time.monotonic() >= next_reap:
                    next_reap = time.monotonic() + self.settings.lease_seconds / 3
                    for dead in reap(self.database, self.session, self.settings.lease_seconds):
                        log.warning("worker session %s was silent too long: its items are owed again", dead)
            except Fenced:
                self._lost = True
                return
            except DBAPIError as error:
                log.warning("heartbeat failed: %s", error)
