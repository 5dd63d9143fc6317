"""Databases behind a real pgbouncer: in session mode they are used, in the other modes refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from db.engine.connection import open_database
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.pgbouncers import start_pgbouncer

CHANGED = "is behind a pooler that changes the connection between transactions, as pgbouncer does with pool_mode = "
REMEDY = "set it there, or write the address of PostgreSQL itself into LUMOS_DATABASE_URL."


@pytest.fixture
def empty_url(postgres_server) -> Iterator[str]:
    """An empty database, at the server itself."""
    url = postgres_server.fresh("template1")
    yield url
    postgres_server.drop(url)


def select(url: str, statement: str) -> list[tuple]:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True, prepare_threshold=None) as connection:
        return connection.execute(statement).fetchall()


def evaluate(lumos, solver: str):
    return lumos("evaluate", "wordmath", "--limit", 2, "--formulation", "direct", "--solver", solver)


def doctor_line(lumos) -> tuple[int, str]:
    """The exit code of `lumos doctor`, and what it says about the database."""
    result = lumos("doctor")
    (line,) = [line for line in result.lines if "  database  " in line]
    return result.code, line


@pytest.mark.parametrize("ignored", ["", "options"])
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_changes_connections_is_refused(lumos, postgres_server, empty_url, mode, ignored):
    with (
        start_pgbouncer(postgres_server, pool_mode=mode, ignore_startup_parameters=ignored) as pooler,
        FakeEndpoint(lambda prompt: "The answer is 5.") as server,
    ):
        url = pooler.url(empty_url)
        lumos.set(LUMOS_DATABASE_URL=url)
        code, line = doctor_line(lumos)
        assert code == 1 and line.startswith("no") and CHANGED in line and REMEDY in line
        for result in (lumos("db", "upgrade"), lumos("worker"), evaluate(lumos, server.chat), lumos("jobs")):
            assert result.code == 2, result.err
            *_, message = result.err.splitlines()
            assert message.startswith(
                f"lumos: The database at postgresql+psycopg://postgres:***@127.0.0.1:{pooler.port}/"
            )
            assert CHANGED in message and message.endswith(REMEDY)
            assert "Traceback" not in result.err
        assert server.count == 0
        ((timeout,),) = select(url, "SHOW idle_in_transaction_session_timeout")
        assert timeout == "0", "a setting was left in a connection that others use"
    assert select(empty_url, "SELECT * FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_pooler_that_gives_out_connections_in_turn_is_refused(lumos, postgres_server, empty_url):
    with (
        start_pgbouncer(postgres_server, pool_mode="transaction", server_round_robin=1) as pooler,
        ExitStack() as open_,
    ):
        url = pooler.url(empty_url)
        others = [open_.enter_context(psycopg.connect(url, prepare_threshold=None)) for _ in range(2)]
        assert len({other.execute("SELECT pg_backend_pid()").fetchone() for other in others}) == 2
        for other in others:
            other.rollback()
        lumos.set(LUMOS_DATABASE_URL=url)
        result = lumos("db", "upgrade")
    assert result.code == 2 and CHANGED in result.err


@pytest.mark.parametrize("ignored", ["", "options"])
def test_a_pooler_that_keeps_sessions_is_used(lumos, postgres_server, empty_url, ignored):
    with (
        start_pgbouncer(postgres_server, pool_mode="session", ignore_startup_parameters=ignored) as pooler,
        FakeEndpoint(lambda prompt: "The answer is 5.") as server,
    ):
        url = pooler.url(empty_url)
        lumos.set(LUMOS_DATABASE_URL=url)
        assert lumos("db", "upgrade").code == 0
        code, line = doctor_line(lumos)
        assert code == 0 and line.startswith("ok")
        result = evaluate(lumos, server.chat)
        assert result.code == 0, result.err
        database = open_database(Settings(database_url=url).database)
        with database.engine.connect() as first, database.engine.connect() as second:
            for connection in (first, second):
                assert connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar() == "10s"
                assert connection.exec_driver_sql("SHOW timezone").scalar() == "UTC"
        database.close()
        assert select(url, "SHOW idle_in_transaction_session_timeout") == [("0",)], "pgbouncer resets a session"
    assert select(empty_url, "SELECT state FROM job") == [("done",)]
