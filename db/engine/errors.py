"""Decide whether rows are the cause of an error, and describe an error in one line."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import SQLAlchemyError

from db.engine.bulk import RowsDiffer
from lumos_queue.errors import DatabaseFailure, LumosError, RowsRefused
from lumos_queue.util.sanitize import storable


def blames_rows(error: BaseException) -> bool:
    """Whether a commit failed because of its rows, so that a commit with rows of other items may succeed.

    Some rows fail before they reach the database: values that are not JSON (ValueError, TypeError, RecursionError) or
    not UTF-8 (ValueError), and numbers of more than 64 bits (OverflowError).
    """
    return isinstance(error, RowsRefused | RowsDiffer | ValueError | TypeError | OverflowError | RecursionError)


def reason(error: BaseException) -> str:
    """Return the error as one line, with its SQLSTATE if it has one."""
    if isinstance(error, DatabaseFailure):
        return error.reason
    message = str(error).strip()
    first = storable(message.splitlines()[0] if message else "")[0]
    return first if isinstance(error, LumosError) else f"{type(error).__name__}: {first}"


def describe_failure(error: BaseException) -> str:
    """Describe an error that a driver or SQLAlchemy raised outside a statement, for a person; '' for other errors."""
    return str(DatabaseFailure(reason(error))) if isinstance(error, SQLAlchemyError | sqlite3.Error) else ""
