"""Failures of a database arrive as this project's errors: no exception of SQLAlchemy leaves `db`."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, text

from db.engine.bulk import copy_rows
from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.engine.rows.jobs import NewTask
from db.models import Dataset, TextBlock
from lumos_queue.errors import (
    ConstraintViolated,
    DatabaseFailure,
    DatabaseUnavailable,
    InfrastructureError,
    PoolTimeout,
    RowsRefused,
)
from tests.services import start_postgres


def fail(database: Database, statement: Callable[[Connection], object]) -> DatabaseFailure:
    """Return the error of a write transaction. SQLAlchemy may not be visible in its type."""
    with pytest.raises(DatabaseFailure) as caught, database.writer.begin() as connection:
        statement(connection)
    assert type(caught.value).__module__ == "lumos_queue.errors"
    return caught.value


def add_block(connection: Connection) -> None:
    connection.execute(insert(TextBlock).values(digest="a", data=b"text"))


def test_a_stored_key_is_a_violated_constraint(database):
    with database.writer.begin() as connection:
        add_block(connection)
    failure = fail(database, add_block)
    assert type(failure) is ConstraintViolated and isinstance(failure, InfrastructureError)
    assert str(failure) == f"The database failed: {failure.reason}. Check it with: lumos doctor"
    assert failure.driver_message.startswith(failure.reason.removeprefix("23505 "))
    report = "".join(traceback.format_exception(failure))
    assert "SQL: INSERT INTO text_block" in report and "sqlalchemy.exc" not in report


def test_rows_copied_to_a_missing_dataset_are_a_violated_constraint(database):
    task = NewTask(dataset="none", ordinal=0, row="1", question="?", inputs="{}", gold="1")
    assert type(fail(database, lambda connection: copy_rows(connection, NewTask, [task]))) is ConstraintViolated


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_value_that_does_not_fit_refuses_the_rows(database):
    failure = fail(database, lambda connection: connection.execute(text("SELECT CAST(40000 AS smallint)")))
    assert type(failure) is RowsRefused and failure.reason == "22003 smallint out of range"


def test_a_wrong_statement_is_for_a_person(database):
    failure = fail(database, lambda connection: connection.execute(text("SELECT nothing")))
    assert type(failure) is DatabaseFailure and "nothing" in failure.reason and "\n" not in failure.reason


def test_a_parameter_that_cannot_be_prepared_is_for_a_person(database):
    failure = fail(
        database, lambda connection: connection.execute(insert(Dataset), {"digest": "a", "created_at": object()})
    )
    assert type(failure) is DatabaseFailure


def test_an_exception_of_the_program_passes_unchanged(database):
    with pytest.raises(ZeroDivisionError), database.writer.begin():
        raise ZeroDivisionError


def test_a_locked_file_is_unavailable(tmp_path):
    with closing(open_database(f"sqlite:///{tmp_path / 'lumos.db'}")) as database:
        upgrade(database)
        with database.writer.begin(), database.engine.connect() as other:
            other.rollback()
            driver = other.connection.driver_connection
            driver.execute("PRAGMA busy_timeout=0")
            with pytest.raises(DatabaseUnavailable, match="database is locked"):
                other.execution_options(lumos_write=True).begin()


def test_a_file_that_cannot_be_written_is_unavailable(tmp_path):
    with closing(open_database(f"sqlite:///{tmp_path / 'lumos.db'}")) as database:
        upgrade(database)
        with database.engine.connect() as connection:
            connection.execute(text("PRAGMA query_only=ON"))
            with pytest.raises(DatabaseUnavailable, match="readonly"):
                add_block(connection)


def test_a_file_that_is_no_database_is_for_a_person(tmp_path):
    file = tmp_path / "lumos.db"
    file.write_text("This is a text, and no database. " * 100)
    with pytest.raises(DatabaseFailure, match="file is not a database") as caught:
        open_database(f"sqlite:///{file}")
    assert type(caught.value) is DatabaseFailure


def test_a_full_pool_is_a_timeout(tmp_path):
    with (
        closing(open_database(f"sqlite:///{tmp_path / 'lumos.db'}", pool_seconds=0.01)) as database,
        ExitStack() as stack,
    ):
        stop = None
        connections = []
        while stop is None:
            try:
                connections.append(stack.enter_context(database.engine.connect()))
            except PoolTimeout as error:
                stop = error
        assert "QueuePool limit" in stop.reason and "\n" not in stop.reason
        # A connection that is replaced within a statement waits for the pool, too.
        lost, *_ = connections
        lost.invalidate()
        stack.enter_context(database.engine.connect())
        with pytest.raises(PoolTimeout):
            lost.execute(text("SELECT 1"))


def test_a_server_that_has_stopped_is_unavailable():
    with start_postgres() as server, closing(open_database(server.fresh())) as database:
        with database.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            server.server.stop()
            with pytest.raises(DatabaseUnavailable):
                connection.execute(text("SELECT 1"))
        with pytest.raises(DatabaseUnavailable):
            database.engine.connect()
        with pytest.raises(InfrastructureError, match="does not answer"):
            open_database(database.url)
        server.server.start()
        with database.engine.connect() as connection:
            assert connection.execute(text("SELECT 1")).scalar() == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_that_closes_each_new_connection_is_unavailable(database, monkeypatch):
    monkeypatch.setattr("db.engine.connection._has_something_to_read", lambda _: True)
    with pytest.raises(DatabaseUnavailable, match="This connection is closed"):
        database.engine.connect()


def test_only_db_and_the_migrations_name_the_exceptions_of_SQLAlchemy():
    root = Path(__file__).resolve().parents[2]
    files = [*(root / "lumos_queue").rglob("*.py"), *(root / "workers").rglob("*.py")]
    assert len(files) > 500
    assert [str(file) for file in files if "sqlalchemy.exc" in file.read_text()] == []
