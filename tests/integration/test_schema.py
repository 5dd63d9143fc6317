"""The schema that the migrations make is the stored one: on SQLite as SQLite tells it, on PostgreSQL by its catalogue.

A change of it is a migration, and then these files are written anew:

    python -m tests.integration.test_schema
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sqlalchemy import Connection, text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from tests.services import start_postgres

FOLDER = Path(__file__).parent
SQLITE = "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master ORDER BY type, name"
#: Columns, constraints, indexes and views of the public schema, each as one line.
POSTGRESQL = (
    "SELECT 'column ' || table_name || ' ' || ordinal_position || ' ' || column_name || ' ' || data_type || ' ' "
    "|| coalesce(column_default, '') || ' ' || is_nullable || ' ' || is_identity || ' ' "
    "|| coalesce(collation_name, '') FROM information_schema.columns "
    "WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
    "SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) "
    "FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, conname",
    "SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
    "SELECT 'view ' || viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public' ORDER BY viewname",
    "SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
    "ORDER BY proname",
    "SELECT 'trigger ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname",
)


def schema_of(database: Database) -> str:
    def lines(connection: Connection, query: str) -> list[str]:
        return list(connection.execute(text(query.replace("::", r"\:\:"))).scalars())

    with database.engine.connect() as connection:
        queries = [SQLITE] if database.is_sqlite else POSTGRESQL
        return "\n".join(line for query in queries for line in lines(connection, query)) + "\n"


def file_of(database: Database) -> Path:
    return FOLDER / f"schema_{'sqlite' if database.is_sqlite else 'postgresql'}.txt"


def test_the_migrations_make_the_stored_schema(database):
    assert schema_of(database) == file_of(database).read_text(encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, start_postgres() as server:
        for url in (f"sqlite:///{folder}/lumos.db", server.fresh("template1")):
            database = open_database(url)
            upgrade(database)
            file_of(database).write_text(schema_of(database), encoding="utf-8")
            database.close()


if __name__ == "__main__":
    main()
