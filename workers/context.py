"""What one worker process keeps between slices: its database and its presence."""

from __future__ import annotations

import os

from db.connection import Database, open_database
from db.migrate import require_current
from lumos_queue.errors import EndpointDown
from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.version import code_version
from workers.session import Presence


class Process:
    """Opened on first use, so that a process forked later opens its own."""

    def __init__(self, settings: Settings):
        self.settings = settings
        #: the latest one that a slice of this process met; None again as soon as one finishes an item
        self.outage: EndpointDown | None = None
        self._database: Database | None = None
        self._presence: Presence | None = None

    @property
    def database(self) -> Database:
        if self._database is None:
            opened = open_database(self.settings.database, self.settings.lease_seconds)
            try:
                require_current(opened)
            except BaseException:
                opened.close()  # refused now, it must be refused next time too
                raise
            self._database = opened
        return self._database

    @property
    def opened(self) -> Database | None:
        """The database, if it has been opened."""
        return self._database

    @property
    def presence(self) -> Presence:
        """This process's worker session; a new one when the last was declared dead."""
        if self._presence is None or self._presence.lost:
            if self._presence:
                self._presence.close()
            self._presence = Presence(self.database, self.settings, code_version())
        return self._presence

    def leave(self) -> None:
        """End the worker session: what it holds is owed again. The next `presence` is a new one."""
        if self._presence:
            self._presence.close()
            self._presence = None

    def close(self) -> None:
        self.leave()
        if self._database:
            self._database.close()
            self._database = None


_current: tuple[int, Process] | None = None


def current_process() -> Process:
    """The one Process of this process id: a fork never inherits its parent's connections."""
    global _current
    if _current is None or _current[0] != os.getpid():
        _current = (os.getpid(), Process(read_settings()))
    return _current[1]
