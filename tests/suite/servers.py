"""Plugin: fixtures for the servers of a run, and the keeper that starts and ends them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.services import Postgres, RabbitMQ, RedisDatabases, skip_test, start_rabbitmq
from tests.suite.keeper import Keeper, request_server

_KEEPERS: list[Keeper] = []  #: the keeper of the run that this process controls


def pytest_configure(config: pytest.Config) -> None:
    if is_worker(config):
        return
    # Workers inherit the environment of the controller, so the keeper of a run with workers is started before them.
    if config.getoption("numprocesses", None):
        _KEEPERS.append(Keeper())


@pytest.hookimpl(trylast=True)  # after the workers have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    for keeper in _KEEPERS:
        keeper.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    commands = [command for keeper in _KEEPERS for command in keeper.killed_commands]
    if commands:
        terminalreporter.section("processes that tests left running, and that were killed", sep="-")
        terminalreporter.write_line("\n".join(command[:200] for command in commands))
    _KEEPERS.clear()


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for a controller."""
    return hasattr(config, "workerinput")


def shared_server(name: str) -> str:
    """Return the URL of a server that all workers of the run use; skip the test if it is not installed."""
    if not _KEEPERS and "PYTEST_XDIST_WORKER" not in os.environ:
        _KEEPERS.append(Keeper())
    try:
        return request_server(name)
    except LookupError as reason:
        skip_test(str(reason))
        raise


@pytest.fixture(scope="session")
def redis_server() -> RedisDatabases:
    """The Redis of this run. A test that stops a server, or flushes all of it, starts its own."""
    port = urlsplit(shared_server("redis")).port
    assert port
    return RedisDatabases(port)


@pytest.fixture
def redis_url(redis_server: RedisDatabases) -> str:
    """An empty database of a real Redis."""
    return redis_server.fresh()


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[RabbitMQ]:
    """A real RabbitMQ of this test run. It takes seconds to start, so its tests stay in one file."""
    with start_rabbitmq() as server:
        yield server


@pytest.fixture
def rabbitmq_url(rabbitmq_server: RabbitMQ) -> str:
    """The RabbitMQ of this test run, with empty queues."""
    return rabbitmq_server.fresh()


@pytest.fixture(scope="session")
def postgres_server() -> Postgres:
    """The PostgreSQL of this run. A test that stops a server, or changes its settings, starts its own."""
    return Postgres(shared_server("postgres"))


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """A fresh PostgreSQL database with all migrations applied."""
    url = postgres_server.fresh()
    yield url
    postgres_server.drop(url)
