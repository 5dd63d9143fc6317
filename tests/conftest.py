"""Fixtures every suite may use."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from lumos_queue.benchmarks.wordmath import grammar
from lumos_queue.records import Task
from lumos_queue.util.plugins import TRUSTED
from lumos_queue.util.sandbox import Sandbox
from tests.command_line import CommandLine

pytest_plugins = [
    "tests.suite.servers",
    "tests.suite.schedule",
    "tests.suite.times",
    "tests.suite.progress",
    "tests.suite.reproduce",
]

ROOT = Path(__file__).resolve().parent.parent

# Without bytecode each worker compiles all test modules in each run, and each process that a test starts the project.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """A run in the background ignores Ctrl-C, and so would all that the tests start and stop by it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Hide what collection makes from the garbage collector: a million objects of modules and tests, which live to the
    end of the run and which each full collection would look at."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


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
def statements_are_compiled_once() -> Iterator[None]:
    """All engines of a dialect share the compiled statements, as the many transactions of one long process do.

    SQLAlchemy caches them per engine, and each test opens its own database.
    """
    start, compiled = Engine.__init__, LRUCache(5_000)

    def start_with_cache(engine: Engine, *arguments: object, **options: object) -> None:
        start(engine, *arguments, **options)
        engine._compiled_cache = compiled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", start_with_cache)
        patch.setattr(DefaultDialect, "__eq__", lambda dialect, other: type(dialect) is type(other), raising=False)
        patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)), raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def helper_processes_are_started_once() -> Iterator[None]:
    """Jobs share the helper processes of maths, code and SQL: to start one takes up to half a second of CPU time."""

    class Shared(Sandbox):
        async def close(self) -> None:
            """The next job goes on with the processes."""

    share = functools.cache(Shared)
    with pytest.MonkeyPatch.context() as patch:
        for user in ("maths.interface", "code.interface", "sql.asking"):
            patch.setattr(f"lumos_queue.actions.{user}.Sandbox", share)
        yield
    share.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def generated_tasks_are_made_once() -> Iterator[None]:
    """A task of wordmath is generated when it is first read: the training split takes ten seconds, another a tenth."""
    generate, lock = grammar.generate, threading.Lock()

    @functools.lru_cache(10)
    def generated(split: str, seed: int) -> list[Task]:
        return []

    def read(split: str, count: int, seed: int) -> Iterator[Task]:
        tasks = generated(split, seed)
        for number in range(count):
            if number >= len(tasks):
                with lock:
                    if number == len(tasks):
                        tasks.append(grammar.task(split, seed, number))
            yield tasks[number]

    def generate_once(split: str, count: int, seed: int = 0) -> Iterator[Task]:
        generate(split, count, seed)  # raises SpecError for an unknown split
        return read(split, count, seed)

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
