"""A database that is opened at its first use, from any thread."""

from __future__ import annotations

from threading import Lock

from db.engine.connection import Database, open_database


class LazyDatabase:
    """A database that the first call of `get` opens."""

    def __init__(self, url: str, idle_milliseconds: int):
        self._url, self._idle_milliseconds = url, idle_milliseconds
        self._database: Database | None = None
        self._lock = Lock()

    def get(self) -> Database:
        """Return the database. Raises the errors of `open_database`."""
        with self._lock:
            if self._database is None:
                self._database = open_database(self._url, self._idle_milliseconds)
        return self._database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
