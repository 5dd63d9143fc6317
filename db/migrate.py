"""Bringing the database's tables to this code's revision, and refusing to work on any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, inspect, select, text

from db.connection import Database
from db.server_needs import check_may_create
from lumos_queue.errors import SpecError

if TYPE_CHECKING:
    from alembic.config import Config

LOCK = 0x6C756D6F73  #: the advisory lock of processes that migrate: 'lumos'
MIGRATION_SECONDS = 300  #: that another process's migration of an SQLite file is waited for
SCRIPTS = Path(__file__).resolve().parent.parent / "migrations"


@cache
def head() -> str:
    """The revision this code works with: the last file in migrations/versions."""
    return max(file.name.split("_")[0] for file in (SCRIPTS / "versions").glob("[0-9]*.py"))


def current(database: Database) -> str | None:
    """The revision the database is at; None when it has no tables yet."""
    with database.engine.connect() as connection:
        return _read_revision(connection)


def _read_revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(database: Database, revision: str = "head") -> None:
    """Run the migrations up to `revision`, all in one transaction. Several processes may do so at once."""
    from alembic import command

    with _migrating(database) as config:
        command.upgrade(config, revision)


def downgrade(database: Database, revision: str) -> None:
    """Run migrations backwards down to `revision`. For tests of the migrations; nothing in production calls it."""
    from alembic import command

    with _migrating(database) as config:
        command.downgrade(config, revision)


@contextmanager
def _migrating(database: Database) -> Iterator[Config]:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writer.connect() as connection, _without_cascades(connection), connection.begin():
        if not database.is_sqlite:  # there the transaction itself has taken the one write lock
            # Before the version is looked at: a second process finds everything done.
            connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
            if _read_revision(connection) != head():  # a role that only works on jobs needs no such right
                check_may_create(connection)
        config.attributes["connection"] = connection
        yield config


@contextmanager
def _without_cascades(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by copying and dropping it; a dropped table would take the rows that refer to it along.

    SQLite obeys this only outside a transaction.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA foreign_keys=OFF")
    driver.execute(f"PRAGMA busy_timeout={MIGRATION_SECONDS * 1000}")  # for others who migrate
    try:
        yield
    finally:
        driver.execute("PRAGMA busy_timeout=10000")
        driver.execute("PRAGMA foreign_keys=ON")


def create_tables(database: Database) -> None:
    """Run all migrations on a database without tables. Raises SpecError for one at another revision."""
    found = current(database)
    if found is None:
        upgrade(database)
        found = current(database)
    _check_revision(found)


def require_current(database: Database) -> None:
    """Raises SpecError unless the database is at this code's revision."""
    _check_revision(current(database))


def _check_revision(found: str | None) -> None:
    wanted = head()
    if found == wanted:
        return
    if found is None:
        raise SpecError("The database has no tables yet. Create them with: lumos db upgrade")
    if found > wanted:
        raise SpecError(
            f"The database is at revision {found}, this code at {wanted}: a newer lumos-queue made it. Update this one."
        )
    raise SpecError(f"The database is at revision {found}, this code needs {wanted}. Run: lumos db upgrade")
