"""Migrate the database's tables to this code's revision, and refuse to work with other revisions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select, text

from db.engine.connection import Database
from db.engine.server_needs import check_may_create
from lumos_queue.errors import SpecError

if TYPE_CHECKING:
    import sqlite3

    from alembic.config import Config

LOCK = 0x6C756D6F73  #: the advisory lock of processes that migrate: 'lumos'
MIGRATION_SECONDS = 300  #: to wait for another process's migration of an SQLite file
SCRIPTS = Path(__file__).resolve().parents[2] / "migrations"


@cache
def head() -> str:
    """Return the revision that this code works with: that of the last file in migrations/versions."""
    return max(file.name.split("_")[0] for file in (SCRIPTS / "versions").glob("[0-9]*.py"))


def current(database: Database) -> str | None:
    """Return the revision of the database; None when it has no tables yet."""
    with database.engine.connect() as connection:
        return _read_revision(connection)


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(database: Database, revision: str = "head") -> None:
    """Run the migrations up to `revision`, all in one transaction. Several processes may do so at once."""
    from alembic import command

    with _prepare_migration(database) as config:
        command.upgrade(config, revision)


def downgrade(database: Database, revision: str) -> None:
    """Undo migrations down to `revision`. Only tests of the migrations call this."""
    from alembic import command

    with _prepare_migration(database) as config:
        command.downgrade(config, revision)


@contextmanager
def _prepare_migration(database: Database) -> Generator[Config, None, None]:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writer.connect() as connection, _without_cascades(connection), connection.begin():
        if not database.is_sqlite:  # the transaction has taken SQLite's one write lock
            # The lock comes before the version is read, so that a second process sees the finished migration.
            connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
            if _read_revision(connection) != head():  # a role that only works on jobs needs no such right
                check_may_create(connection)
        config.attributes["connection"] = connection
        yield config


@contextmanager
def _without_cascades(connection: Connection) -> Generator[None, None, None]:
    """Turn SQLite's foreign keys off meanwhile. Otherwise dropping a table would delete the rows that refer to it.

    A migration changes a table by copying and dropping it. SQLite accepts the setting only outside a transaction.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: sqlite3.Connection | None = connection.connection.driver_connection
    assert driver is not None
    driver.execute("PRAGMA foreign_keys=OFF")
    driver.execute(f"PRAGMA busy_timeout={MIGRATION_SECONDS * 1000}")  # for other processes that migrate
    try:
        yield
    finally:
        driver.execute("PRAGMA busy_timeout=10000")
        driver.execute("PRAGMA foreign_keys=ON")


def create_tables(database: Database) -> None:
    """Run all migrations on a database without tables. Raises SpecError for one at another revision."""
    revision = current(database)
    if revision is None:
        upgrade(database)
        revision = current(database)
    _check_revision(revision)


def require_current(database: Database) -> None:
    """Raise SpecError unless the database is at this code's revision."""
    _check_revision(current(database))


def _check_revision(revision: str | None) -> None:
    expected_revision = head()
    if revision == expected_revision:
        return
    if revision is None:
        raise SpecError("The database has no tables yet. Create them with: lumos db upgrade")
    if revision > expected_revision:
        raise SpecError(
            f"The database is at revision {revision}, this code at {expected_revision}: a newer lumos-queue made it. "
            "Update this one."
        )
    raise SpecError(
        f"The database is at revision {revision}, this code needs {expected_revision}. Run: lumos db upgrade"
    )
