"""Classify errors of the database: a retry may succeed, the rows are the cause, or a person has to act."""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InterfaceError, OperationalError

from db.engine.bulk import RowsDiffer
from lumos_queue.errors import LumosError
from lumos_queue.util.sanitize import storable

#: SQLSTATEs after which the same statement may succeed: the server fails over, ends, starts, is full or interrupted.
_PASSING = re.compile(r"08(?!P01)...|25006|57P0[123]|57014|40001|40P01|53...|55P03")
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


def retryable(error: BaseException) -> bool:
    """Whether the same statement may succeed later, because only the connection or the database's state failed."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    if code := _sqlstate(error):
        return _PASSING.fullmatch(code) is not None
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_code(error) in _SQLITE_PASSING
    return isinstance(error, OperationalError | InterfaceError)  # PostgreSQL's driver lost the connection, or got none


def blames_rows(error: BaseException) -> bool:
    """Whether a commit failed because of its rows, so that a commit with rows of other items may succeed.

    Some rows fail before they reach the database: values that are not JSON (ValueError, TypeError, RecursionError) or
    not UTF-8 (ValueError), and numbers of more than 64 bits (OverflowError).
    """
    if isinstance(error, RowsDiffer | ValueError | TypeError | OverflowError | RecursionError):
        return True
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        return False
    if code := _sqlstate(error):
        return code.startswith(_BLAMING)
    return isinstance(error, IntegrityError | DataError) or _sqlite_code(error) == sqlite3.SQLITE_TOOBIG


def reason(error: BaseException) -> str:
    """Return the error as one line, with its SQLSTATE if it has one."""
    message = str(error.orig if isinstance(error, DBAPIError) and error.orig else error).strip()
    first = storable(message.splitlines()[0] if message else "")[0]
    if not isinstance(error, DBAPIError):
        return first if isinstance(error, LumosError) else f"{type(error).__name__}: {first}"
    code = _sqlstate(error)
    return f"{code} {first}" if code else first


def _sqlstate(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _sqlite_code(error: DBAPIError) -> int:
    """Return SQLite's primary result code, without the extension in the higher bytes; 0 if the error has no code."""
    return (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF


def describe_failure(error: BaseException) -> str:
    """Describe an error of the database or its driver in one line for a person."""
    return f"The database failed: {reason(error)}. Check it with: lumos doctor"
