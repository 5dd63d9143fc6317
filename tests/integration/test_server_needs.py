"""PostgreSQL databases that cannot be used: each is refused in one line, before anything is stored."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy.engine import make_url

import db.engine.connection
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.engine.server_needs import _milliseconds
from lumos_queue.cli.doctor import examine
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from tests.services import worker_number


def refusal(url: str) -> str:
    """What the database is refused with, by a migration and by `lumos doctor`."""
    with pytest.raises(SpecError) as caught:
        database = open_database(url)
        try:
            upgrade(database)
        finally:
            database.close()
    message = str(caught.value)
    assert "\n" not in message
    (checked,) = [
        finding
        for finding in examine(Settings(database_url=url.replace("+psycopg", "")), [])
        if finding.what == "database"
    ]
    assert checked.fine is False and message in checked.found
    return message


def test_a_database_that_cannot_store_all_texts(postgres_server):
    name = f"latin_{worker_number()}"
    postgres_server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        message = refusal(postgres_server.url(name))
    finally:
        postgres_server.drop(postgres_server.url(name))
    assert message.startswith(f"The database '{name}' has the encoding LATIN1, expected UTF8: ")


def test_a_role_that_may_not_create_tables(postgres_server):
    """PostgreSQL 15: all rights on a database do not include that."""
    role, name = f"guest_{worker_number()}", f"guarded_{worker_number()}"
    postgres_server.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
        f"CREATE DATABASE {name}",
        f"GRANT ALL ON DATABASE {name} TO {role}",
    )
    url = make_url(postgres_server.url(name)).set(username=role, password="secret").render_as_string(False)
    try:
        message = refusal(url)
    finally:
        postgres_server.drop(url)
        postgres_server.execute(f"DROP ROLE {role}")
    assert f"The role '{role}' has no right to create tables in the schema 'public'" in message
    assert f"GRANT CREATE ON SCHEMA public TO {role}" in message and "secret" not in message


def test_a_database_that_is_up_to_date_needs_no_right_to_create_tables(postgres_server, postgres_url):
    role = f"worker_{worker_number()}"
    name = make_url(postgres_url).database
    postgres_server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    with psycopg.connect(postgres_server.uri.replace("/postgres?", f"/{name}?"), autocommit=True) as connection:
        connection.execute(f"GRANT SELECT, UPDATE, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
    database = open_database(make_url(postgres_url).set(username=role, password="secret").render_as_string(False))
    upgrade(database)
    database.close()
    with psycopg.connect(postgres_server.uri.replace("/postgres?", f"/{name}?"), autocommit=True) as connection:
        connection.execute(f"DROP OWNED BY {role}")
    postgres_server.execute(f"DROP ROLE {role}")


@pytest.fixture
def ignored_options(monkeypatch):
    """Connections are opened without settings, as a pooler may ignore them."""

    def engine_without_options(address, connect_args, **options):
        return make_engine(address, connect_args={**connect_args, "options": ""}, **options)

    make_engine = db.engine.connection.create_engine
    monkeypatch.setattr(db.engine.connection, "create_engine", engine_without_options)


def test_settings_that_a_connection_is_not_opened_with_are_set_in_it(postgres_url, ignored_options):
    database = open_database(postgres_url)
    with database.engine.connect() as first, database.engine.connect() as second:
        for connection in (first, second):
            assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "10s"
            assert connection.exec_driver_sql("SHOW timezone").scalar() == "UTC"
    database.close()


def test_a_connection_that_loses_its_settings(postgres_url, ignored_options, monkeypatch):
    monkeypatch.setattr(db.engine.connection, "set_when_connected", lambda engine, settings: None)
    message = refusal(postgres_url)
    assert "loses a connection's settings (idle_in_transaction_session_timeout is 0, expected 10000ms)" in message
    assert "write the address of PostgreSQL itself into LUMOS_DATABASE_URL" in message


@pytest.mark.parametrize(
    ("setting", "milliseconds"), [("0", 0), ("333ms", 333), ("10s", 10_000), ("10min", 600_000), ("2h", 7_200_000)]
)
def test_a_time_is_read_as_postgresql_shows_it(setting, milliseconds):
    assert _milliseconds(setting) == milliseconds
