"""Which errors of a database are tried again, and which blame what was sent."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from db.engine.bulk import RowsDiffer
from db.engine.errors import blames_rows, reason
from db.engine.failures import as_failure
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable


def wrapped(original: Exception, base: type[Exception]) -> DatabaseFailure:
    return as_failure(DBAPIError.instance("SELECT 1", {}, original, base))


def retryable(error: Exception) -> bool:
    return isinstance(error, DatabaseUnavailable)


def postgresql(code: str) -> DatabaseFailure:
    return wrapped(psycopg.errors.lookup(code)("said so\nDETAIL: more"), psycopg.Error)


@pytest.mark.parametrize(
    "code",
    [
        "25006",
        "57P01",
        "57P02",
        "57P03",
        "57014",
        "08000",
        "08003",
        "08006",
        "40001",
        "40P01",
        "53100",
        "53300",
        "55P03",
    ],
)
def test_what_passes_is_tried_again(code):
    assert retryable(postgresql(code)) and not blames_rows(postgresql(code))


@pytest.mark.parametrize("code", ["22003", "22P02", "22P05", "23502", "23505", "54000", "54011"])
def test_what_was_sent_is_blamed(code):
    assert blames_rows(postgresql(code)) and not retryable(postgresql(code))


@pytest.mark.parametrize("code", ["08P01", "42P01", "42501", "42601", "25P02", "XX000", "58030", "57P04", "40002"])
def test_anything_else_is_for_a_person(code):
    assert not retryable(postgresql(code)) and not blames_rows(postgresql(code))


def test_a_connection_that_was_lost_without_a_word_is_tried_again():
    assert retryable(wrapped(psycopg.OperationalError("consuming input failed: timed out"), psycopg.Error))
    invalidated = as_failure(DBAPIError("SELECT 1", {}, psycopg.InternalError("closed"), connection_invalidated=True))
    assert retryable(invalidated) and not blames_rows(invalidated)


def test_a_real_SQLite_says_what_happened(tmp_path):
    def failure(statement: str, *values: object, uri: str = "") -> Exception:
        connection = sqlite3.connect(uri or str(tmp_path / "x.db"), uri=bool(uri), timeout=0)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
            connection.execute(statement, values)
            connection.commit()
        except Exception as error:
            return wrapped(error, sqlite3.Error) if isinstance(error, sqlite3.Error) else error
        finally:
            connection.close()
        raise AssertionError("it succeeded")

    with sqlite3.connect(tmp_path / "x.db") as other:
        other.execute("CREATE TABLE t (x INTEGER NOT NULL)")
    for statement, values in (
        ("INSERT INTO t VALUES (?)", [None]),
        ("INSERT INTO t VALUES (?)", ["y" * 200_000]),
        ("INSERT INTO t VALUES (?)", [2**63]),
        ("INSERT INTO t VALUES (?)", ["\ud800"]),
    ):
        error = failure(statement, *values)
        assert blames_rows(error) and not retryable(error), (statement, error)
    missing = failure("INSERT INTO u VALUES (1)")
    assert not blames_rows(missing) and not retryable(missing)
    read_only = failure("INSERT INTO t VALUES (1)", uri=f"file:{tmp_path}/x.db?mode=ro")
    assert retryable(read_only)
    holder = sqlite3.connect(tmp_path / "x.db")
    holder.execute("BEGIN IMMEDIATE")
    assert retryable(failure("INSERT INTO t VALUES (1)"))
    holder.close()


def test_the_reason_is_one_line_with_the_state():
    assert reason(postgresql("22003")) == "22003 said so"
    assert reason(RowsDiffer("completion (1,) differs")) == "completion (1,) differs"
    assert reason(ValueError("")) == "ValueError: "
    assert blames_rows(RowsDiffer("x"))
