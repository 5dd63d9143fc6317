"""Fixtures every suite may use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services import Postgres, RabbitMQ, Redis, running_postgres, running_rabbitmq, running_redis

ROOT = Path(__file__).resolve().parent.parent


#: Files whose tests take longest: they begin first, so that no process works on one alone at the end.
LONGEST = (
    "acceptance/test_starter", "acceptance/test_train", "unit/test_training", "acceptance/test_webshop_model",
    "integration/test_prompts", "integration/test_before_rooms", "unit/test_cli", "integration/test_deaths",
    "integration/test_builds", "unit/test_expert", "unit/test_openagi", "integration/test_celery", "faults/",
)  # fmt: skip


def pytest_configure() -> None:
    """A run in the background ignores Ctrl-C, and so would all that the tests start and stop by it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        name = item.path.relative_to(ROOT / "tests").as_posix() if item.path.is_relative_to(ROOT / "tests") else ""
        return next((at for at, one in enumerate(LONGEST) if name.startswith(one)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """No setting of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("LUMOS_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark records that lies beside the checkout; none of it is part of the project."""
    return _shared_folder("data", "the benchmark records")


@pytest.fixture(scope="session")
def shared_spec() -> Path:
    """The folder of specifications that lies beside the checkout."""
    return _shared_folder("spec", "the specifications")


def _shared_folder(name: str, what: str) -> Path:
    folder = ROOT.parent / "shared" / name
    if not folder.is_dir():
        message = f"needs {what} in ../shared/{name}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """A real Redis of this test run; a test that stops it must start it again."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """An empty database of a real Redis."""
    return redis_server.fresh()


@pytest.fixture(scope="session")
def rabbitmq_server() -> Iterator[RabbitMQ]:
    """A real RabbitMQ of this test run. It takes seconds to start: what needs it stays in one file."""
    with running_rabbitmq() as server:
        yield server


@pytest.fixture
def rabbitmq_url(rabbitmq_server: RabbitMQ) -> str:
    """The RabbitMQ of this test run, with empty queues."""
    return rabbitmq_server.fresh()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A real PostgreSQL of this test run."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Postgres) -> str:
    """A fresh PostgreSQL database with all migrations applied."""
    return postgres_server.fresh()


def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: half as many again as cores, as many tests wait for servers, processes and time-outs; at most four."""
    cores = os.cpu_count() or 1
    return min(4, cores + cores // 2)
