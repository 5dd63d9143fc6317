"""Bringing the database's tables to this code's revision, and refusing to work on any other."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import inspect, text

from db.connection import Database
from lumos_queue.errors import SpecError

SCRIPTS = Path(__file__).resolve().parent.parent / "migrations"


def head() -> str:
    """The revision this code works with: the last file in migrations/versions."""
    return max(file.name.split("_")[0] for file in (SCRIPTS / "versions").glob("[0-9]*.py"))


def current(database: Database) -> str | None:
    """The revision the database is at; None when it has no tables yet."""
    with database.engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(database: Database, revision: str = "head") -> None:
    """Run the migrations up to `revision`, all in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writer.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def downgrade(database: Database, revision: str) -> None:
    """Run migrations backwards down to `revision`. For tests of the migrations; nothing in production calls it."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writer.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)


def require_current(database: Database) -> None:
    """Raises SpecError unless the database is at this code's revision."""
    found, wanted = current(database), head()
    if found == wanted:
        return
    if found is None:
        raise SpecError("The database has no tables yet. Create them with: lumos db upgrade")
    if found > wanted:
        raise SpecError(
            f"The database is at revision {found}, this code at {wanted}: a newer lumos-queue made it. Update this one."
        )
    raise SpecError(f"The database is at revision {found}, this code needs {wanted}. Run: lumos db upgrade")
