"""Open the database that the settings name, for a command."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from db.engine.connection import POOL_SECONDS, Database, open_database
from db.engine.migrate import create_tables, require_current
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings


@contextmanager
def database(
    settings: Settings, create: bool = False, pool_seconds: float = POOL_SECONDS
) -> Generator[Database, None, None]:
    """Open the database. Raises SpecError for another revision. `create`: create a missing embedded database.

    `pool_seconds`: how long a thread waits for a connection while all of them are in use.
    """
    if not create:
        _require_file(settings)
    job_database = open_database(settings.database, settings.lease_seconds, pool_seconds)
    try:
        if create and job_database.is_sqlite:
            create_tables(job_database)
        else:
            require_current(job_database)
        yield job_database
    finally:
        job_database.close()


def _require_file(settings: Settings) -> None:
    """Raises SpecError for a missing embedded database, because commands that only read must not create it."""
    url = settings.database
    if url.startswith("sqlite:///"):
        path = Path(url.removeprefix("sqlite:///"))
        if not path.exists():
            raise SpecError(
                f"There is no database at '{path}' yet. Submit a job first, or name another with LUMOS_DATABASE_URL."
            )
