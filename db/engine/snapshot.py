"""Read the database in one state."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from db.engine.connection import Database


@contextmanager
def reading(database: Database) -> Generator[Connection, None, None]:
    """Open a read-only transaction that sees the database in one state. The database refuses writes in it."""
    with database.engine.connect() as connection:
        if database.is_sqlite:
            connection.execute(text("PRAGMA query_only = ON"))
        else:
            # Compiling an expression takes longer than these statements do.
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            connection.execute(text("SET LOCAL jit = off"))
        try:
            yield connection
        finally:
            if database.is_sqlite:
                connection.execute(text("PRAGMA query_only = OFF"))
