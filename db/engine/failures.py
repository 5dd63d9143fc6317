"""Translate the exceptions of SQLAlchemy and of the drivers to this project's errors, for each engine.

No exception of SQLAlchemy about a connection, a statement or the pool leaves an engine with `EnginePool` and
`translate_failures`.
"""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy import Engine, PoolProxiedConnection, QueuePool, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InvalidRequestError,
    OperationalError,
    StatementError,
)
from sqlalchemy.exc import TimeoutError as QueuePoolTimeout

from lumos_queue.errors import (
    ConstraintViolated,
    DatabaseFailure,
    DatabaseUnavailable,
    LumosError,
    PoolTimeout,
    RowsRefused,
    TransactionConflict,
)
from lumos_queue.util.sanitize import storable

MAX_STATEMENT = 2000  #: characters of a statement in a traceback
#: SQLSTATEs after which the same statement may succeed: the server fails over, ends, starts, is full or interrupted.
_PASSING = re.compile(r"08(?!P01)...|25006|57P0[123]|57014|53...|55P03")
_CONFLICTS = ("40001", "40P01")  #: a serialization failure, and a deadlock
#: Classes of SQLSTATE that blame the rows: a value, a constraint, a size.
_BLAMING = ("22", "23", "54")
_SQLITE_PASSING = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
    )
)


class EnginePool(QueuePool):
    """A pool of connections. Raises PoolTimeout while all connections are in use for too long."""

    def connect(self) -> PoolProxiedConnection:
        # The event `handle_error` does not receive the pool's own exceptions.
        try:
            return super().connect()
        except QueuePoolTimeout as error:
            raise PoolTimeout(_first_line(str(error))) from error
        except InvalidRequestError as error:  # the server has closed each new connection at once
            raise DatabaseUnavailable(_first_line(str(error))) from error


def translate_failures(engine: Engine) -> None:
    """Make statements, transactions and connections of the engine raise DatabaseFailure."""
    event.listen(engine, "handle_error", _translate)


def _translate(context: ExceptionContext) -> LumosError | None:
    """Return the error to raise instead; None for an exception that is not a failure of the database."""
    if context.sqlalchemy_exception is None:
        return None
    if isinstance(context.original_exception, LumosError):  # a statement that needed a new connection got none
        return context.original_exception
    return as_failure(context.sqlalchemy_exception)


def as_failure(error: StatementError) -> DatabaseFailure:
    """Return the error of this project for an error of SQLAlchemy. Its statement is in the traceback."""
    driver_message = str(error.orig or error).strip() or type(error.orig or error).__name__
    reason = _first_line(driver_message)
    if not isinstance(error, DBAPIError):  # SQLAlchemy itself could not prepare the statement
        reason = f"{type(error.orig or error).__name__}: {reason}"
    elif code := _sqlstate(error):
        reason = f"{code} {reason}"
    failure = _kind(error)(reason, driver_message)
    if error.statement:
        failure.add_note(f"SQL: {error.statement[:MAX_STATEMENT]}")
    return failure


def _kind(error: StatementError) -> type[DatabaseFailure]:
    if not isinstance(error, DBAPIError):
        return DatabaseFailure
    if _sqlstate(error) in _CONFLICTS:
        return TransactionConflict
    if _is_passing(error):
        return DatabaseUnavailable
    if isinstance(error, IntegrityError):
        return ConstraintViolated
    if code := _sqlstate(error):
        return RowsRefused if code.startswith(_BLAMING) else DatabaseFailure
    is_too_big = isinstance(error, DataError) or _sqlite_code(error) == sqlite3.SQLITE_TOOBIG
    return RowsRefused if is_too_big else DatabaseFailure


def _is_passing(error: DBAPIError) -> bool:
    """Whether the same statement may succeed later, because only the connection or the database's state failed."""
    if error.connection_invalidated:
        return True
    if code := _sqlstate(error):
        return _PASSING.fullmatch(code) is not None
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_code(error) in _SQLITE_PASSING
    return isinstance(error, OperationalError | InterfaceError)  # PostgreSQL's driver lost the connection, or got none


def _sqlstate(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _sqlite_code(error: DBAPIError) -> int:
    """Return SQLite's primary result code, without the extension in the higher bytes; 0 if the error has no code."""
    return (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF


def _first_line(text: str) -> str:
    return storable(text.splitlines()[0] if text else "")[0]
