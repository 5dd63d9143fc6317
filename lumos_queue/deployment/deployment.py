"""The deployment that a process works in: its settings, its database and its lease."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Self

from db.engine.connection import POOL_SECONDS, Database, open_database
from db.engine.lease import Lease
from db.engine.migrate import create_tables, require_current
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings


class Deployment:
    """The settings, database, broker and lease of a deployment, as one process uses them. Any thread may use it.

    The first use of the database opens it, and `close` closes it. Neither connections nor locks survive a fork: in a
    forked child every use raises RuntimeError, and the child makes its own Deployment.
    """

    def __init__(self, settings: Settings, pool_seconds: float = POOL_SECONDS):
        """`pool_seconds`: how long a thread waits for a connection while all of them are in use."""
        self.settings = settings
        self.lease = Lease(settings.lease_seconds)
        self._opening = _Opening(settings.database, self.lease, pool_seconds)

    @property
    def broker(self) -> str:
        """The broker's URL; '' without a broker."""
        return self.settings.broker_url

    @property
    def database(self) -> Database:
        """The database. Raises SpecError for a missing file and another revision, and the errors of `open_database`."""
        return self._opening.get(require_current, must_exist=True)

    @property
    def database_if_open(self) -> Database | None:
        """The database, if it has been opened."""
        return self._opening.database

    def create(self) -> Database:
        """Return the database, and create a missing embedded database. Raises the errors of `database`."""
        return self._opening.get(_create)

    def open_at_any_revision(self) -> Database:
        """Return the database as it is, for commands that migrate or examine it."""
        return self._opening.get(lambda _: None)

    def with_settings(self, settings: Settings) -> Deployment:
        """Return this deployment with other settings, on the same open database."""
        deployment = Deployment(settings)
        deployment._opening = self._opening
        return deployment

    def close(self) -> None:
        """Close the database if it is open. In a forked child this does nothing: the connections are the parent's."""
        self._opening.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Opening:
    """A database that is opened at most once until it is closed."""

    def __init__(self, url: str, lease: Lease, pool_seconds: float):
        self.database: Database | None = None
        self._url, self._lease, self._pool_seconds = url, lease, pool_seconds
        self._process = os.getpid()
        self._lock = Lock()

    def get(self, prepare: Callable[[Database], None], must_exist: bool = False) -> Database:
        """Return the database, which was prepared when it was opened. `must_exist`: do not create a missing file."""
        if self._process != os.getpid():
            raise RuntimeError(
                f"This Deployment was made by process {self._process}. Process {os.getpid()} was forked from it and "
                "has to make its own."
            )
        with self._lock:
            if self.database is None:
                if must_exist:
                    self._require_file()
                database = open_database(self._url, self._lease.idle_milliseconds, self._pool_seconds)
                try:
                    prepare(database)
                except BaseException:
                    database.close()  # so that the next use checks it again
                    raise
                self.database = database
            return self.database

    def close(self) -> None:
        if self._process != os.getpid():
            return
        with self._lock:
            database, self.database = self.database, None
        if database is not None:
            database.close()

    def _require_file(self) -> None:
        """Raise SpecError for a missing embedded database, because commands that only read must not create it."""
        path = Path(self._url.removeprefix("sqlite:///"))
        if self._url.startswith("sqlite:///") and not path.exists():
            raise SpecError(
                f"There is no database at '{path}' yet. Submit a job first, or name another with LUMOS_DATABASE_URL."
            )


def _create(database: Database) -> None:
    if database.is_sqlite:
        create_tables(database)
    else:
        require_current(database)
