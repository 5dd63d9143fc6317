"""Open the database of a deployment for one call of a program, and translate its failures to errors of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from db.engine.connection import Database
from db.engine.errors import describe_failure
from lumos_queue.deployment.database import database
from lumos_queue.deployment.forks import note_call
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings


@contextmanager
def translate_failures() -> Iterator[None]:
    """Turn failures of the database into InfrastructureError with a message of one line. May decorate a function."""
    try:
        yield
    except DBAPIError as error:
        raise InfrastructureError(describe_failure(error)) from error


@contextmanager
def open_deployment(deployment: Settings) -> Iterator[Database]:
    """Yield the database with new connections, so that threads and forked children may call this function.

    Raises InfrastructureError when the database does not answer, SpecError when it is at another revision, and the
    errors of `note_call`.
    """
    with note_call(deployment), translate_failures(), database(deployment) as job_database:
        yield job_database
