"""Read whole rows of a table with the types that the table's class declares.

To a type checker each row is an object of the class. In fact it is a row of SQLAlchemy, which costs less: its columns
can be read like an object's, and it cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable

from db.models.base import Base

Stored = TypeVar("Stored", bound=Base)


def read_rows(connection: Connection, model: type[Stored], query: Executable) -> list[Stored]:
    """Return the rows of a query that selects all columns of the table of `model`, and possibly others after them."""
    return list(iterate_rows(connection, model, query))


def read_row(connection: Connection, model: type[Stored], query: Executable) -> Stored | None:
    """Return the first row of such a query, or None if it has no rows."""
    row: Any = connection.execute(query).first()
    return row


def iterate_rows(connection: Connection, model: type[Stored], query: Executable) -> Iterable[Stored]:
    """Yield the rows of such a query."""
    rows: Any = connection.execute(query)
    return rows
