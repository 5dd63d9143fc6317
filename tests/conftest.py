"""Fixtures every suite may use."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from lumos_queue.benchmarks.wordmath import grammar
from lumos_queue.records import Task
from lumos_queue.util.plugins import TRUSTED
from tests.command_line import CommandLine
from tests.services import Postgres, RabbitMQ, Redis, running_postgres, running_rabbitmq, running_redis

ROOT = Path(__file__).resolve().parent.parent


LONG = 20_000  #: tasks from which on a split is kept

#: Files whose tests take longest: they begin first, so that no process works on one alone at the end.
LONGEST = (
    "acceptance/test_starter", "acceptance/test_train", "unit/test_training", "acceptance/test_webshop_model",
    "integration/test_prompts", "integration/test_before_rooms", "unit/test_cli", "integration/test_deaths",
    "integration/test_builds", "unit/test_expert", "unit/test_openagi", "integration/test_celery", "faults/",
)  # fmt: skip


def pytest_configure() -> None:
    """Set what the tests and the processes that they start inherit.

    A run in the background ignores Ctrl-C, and so would all that the tests start and stop by it. Torch computes with
    one thread: the models are small, and waiting threads take the CPU time of other tests.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: modules and tests live to the end of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        FROZEN.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    FROZEN.freeze_imports()


class FrozenModules:
    """Hides the objects of imported modules from the garbage collector, which would look at each of them in each full
    collection: 0.2 s when torch is loaded, for every step of a fit that collects."""

    MANY = 200  #: modules that are worth a collection

    def __init__(self) -> None:
        self._modules = 0

    def freeze(self) -> None:
        gc.freeze()
        self._modules = len(sys.modules)

    def freeze_imports(self) -> None:
        """Freeze what a test imported, if that is much."""
        if len(sys.modules) - self._modules > self.MANY:
            gc.collect()
            self.freeze()


FROZEN = FrozenModules()


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


@pytest.fixture(autouse=True)
def trust_nothing_of_other_tests(monkeypatch):
    """Modules and folders that a test names are not those of this process for the tests after it."""
    for kept in ("_modules", "_given"):
        monkeypatch.setattr(TRUSTED, kept, set(getattr(TRUSTED, kept)))
    monkeypatch.setattr(TRUSTED, "_folders", list(TRUSTED._folders))


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys) -> CommandLine:
    """The `lumos` command in this process, with an embedded database in a new folder."""
    return CommandLine(tmp_path / "home", monkeypatch, capsys)


@pytest.fixture(scope="session", autouse=True)
def tables_are_made_once() -> Iterator[None]:
    """A new SQLite file gets the tables that the migrations made in the first one of this process: they take 0.4 s."""
    upgrade, made = command.upgrade, list[str]()

    def upgrade_once(config: Config, revision: str) -> None:
        connection = config.attributes["connection"]
        if connection.dialect.name != "sqlite" or revision != "head" or tables_of(connection):
            upgrade(config, revision)
        elif not made:
            upgrade(config, revision)
            made.extend(tables_of(connection))
            version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
            made.append(f"INSERT INTO alembic_version VALUES ('{version}')")
        else:
            for statement in made:
                connection.exec_driver_sql(statement)

    def tables_of(connection: Connection) -> list[str]:
        kinds = "CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END, rowid"
        wanted = f"SELECT sql FROM sqlite_master WHERE sql <> '' AND name NOT LIKE 'sqlite_%' ORDER BY {kinds}"
        return list(connection.exec_driver_sql(wanted.replace("%", "%%")).scalars())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", upgrade_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def generated_tasks_are_made_once() -> Iterator[None]:
    """The training split of wordmath takes ten seconds to generate, and is the same every time."""
    generate = grammar.generate
    keep = functools.lru_cache(maxsize=2)(lambda *arguments: tuple(generate(*arguments)))

    def generate_once(split: str, count: int, seed: int = 0) -> Iterator[Task]:
        return iter(keep(split, count, seed)) if count >= LONG else generate(split, count, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grammar, "generate", generate_once)
        yield


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
