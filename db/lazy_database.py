"""A database that is opened by the first who needs it, from whatever thread."""

from __future__ import annotations

from threading import Lock

from db.connection import Database, open_database


class LazyDatabase:
    """Opened once, by `get`."""

    def __init__(self, url: str, lease_seconds: float):
        self._url, self._lease_seconds = url, lease_seconds
        self._database: Database | None = None
        self._opening = Lock()

    def get(self) -> Database:
        """Raises as `open_database` does."""
        with self._opening:
            if self._database is None:
                self._database = open_database(self._url, self._lease_seconds)
        return self._database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
