"""Open the database of a deployment, for a command that uses nothing else of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from db.engine.connection import Database
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings


@contextmanager
def database(settings: Settings, create: bool = False) -> Generator[Database, None, None]:
    """Yield the database, and close it. `create`: create a missing embedded database. Raises SpecError."""
    with Deployment(settings) as deployment:
        yield deployment.create() if create else deployment.database
