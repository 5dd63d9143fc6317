"""Open the database of a deployment for one call of a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from db.engine.connection import Database
from lumos_queue.deployment.database import database
from lumos_queue.deployment.forks import note_call
from lumos_queue.settings import Settings


@contextmanager
def open_deployment(deployment: Settings) -> Iterator[Database]:
    """Yield the database with new connections, so that threads and forked children may call this function.

    Raises InfrastructureError when the database does not answer, SpecError when it is at another revision, and the
    errors of `note_call`.
    """
    with note_call(deployment), database(deployment) as job_database:
        yield job_database
