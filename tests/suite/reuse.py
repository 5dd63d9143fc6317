"""Plugin: objects that a process makes once for all its tests, as a process of the product does.

Each object is the same every time. A process of the product makes it at its start; a process of tests would make it
for each test.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from lumos_queue.benchmarks.wordmath import grammar
from lumos_queue.cli import command_group
from lumos_queue.records import Task
from lumos_queue.util.sandbox import Sandbox

#: The modules of actions that start helper processes.
SANDBOX_USERS = ("maths.interface", "code.interface", "sql.databases")


@pytest.fixture(scope="session", autouse=True)
def tables_are_made_once() -> Iterator[None]:
    """A new SQLite file gets the tables that the migrations made in the first one of this process: they take 0.4 s."""
    upgrade, statements = command.upgrade, list[str]()

    def upgrade_once(config: Config, revision: str) -> None:
        connection = config.attributes["connection"]
        if connection.dialect.name != "sqlite" or revision != "head" or tables_of(connection):
            upgrade(config, revision)
        elif not statements:
            upgrade(config, revision)
            statements.extend(tables_of(connection))
            version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
            statements.append(f"INSERT INTO alembic_version VALUES ('{version}')")
        else:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def tables_of(connection: Connection) -> list[str]:
        kinds = "CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 ELSE 3 END, rowid"
        query = f"SELECT sql FROM sqlite_master WHERE sql <> '' AND name NOT LIKE 'sqlite_%' ORDER BY {kinds}"
        return list(connection.exec_driver_sql(query.replace("%", "%%")).scalars())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", upgrade_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def statements_are_compiled_once() -> Iterator[None]:
    """All engines of a dialect share the compiled statements, as the many transactions of one long process do.

    SQLAlchemy caches them per engine, and each test opens its own database.
    """
    start, cache = Engine.__init__, LRUCache(5_000)

    def start_with_cache(engine: Engine, *arguments: object, **options: object) -> None:
        start(engine, *arguments, **options)
        engine._compiled_cache = cache

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "__init__", start_with_cache)
        patch.setattr(
            DefaultDialect, "__eq__", lambda dialect, other_dialect: type(dialect) is type(other_dialect), raising=False
        )
        patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(type(dialect)), raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def helper_processes_are_started_once() -> Iterator[None]:
    """Jobs share the helper processes of maths, code and SQL: starting one takes up to half a second of CPU time."""

    class Shared(Sandbox):
        async def close(self) -> None:
            """Keep the processes for the next job."""

    boxes: dict[tuple[object, ...], Shared] = {}

    def share(*arguments: object, variables: Mapping[str, str] | None = None) -> Shared:
        key = (*arguments, *sorted((variables or {}).items()))
        if key not in boxes:
            boxes[key] = Shared(*arguments, variables=variables)
        return boxes[key]

    with pytest.MonkeyPatch.context() as patch:
        for user in SANDBOX_USERS:
            patch.setattr(f"lumos_queue.actions.{user}.Sandbox", share)
        yield
    boxes.clear()


@pytest.fixture
def own_helper_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test its own helper processes, for tests of their start and end."""
    for user in SANDBOX_USERS:
        monkeypatch.setattr(f"lumos_queue.actions.{user}.Sandbox", Sandbox)


@pytest.fixture(scope="session", autouse=True)
def server_of_forks_ends() -> Iterator[None]:
    """End the server that forks processes (tests/forked_commands.py) after the tests of this process."""
    yield
    if module := sys.modules.get("tests.forked_commands"):
        module.end_server()


@pytest.fixture(scope="session", autouse=True)
def generated_tasks_are_made_once() -> Iterator[None]:
    """A task of wordmath is generated when it is first read: a whole split takes from 0.1 to ten seconds."""
    generate, lock = grammar.generate, threading.Lock()

    @functools.lru_cache(18)
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


@pytest.fixture(scope="session", autouse=True)
def commands_are_built_once() -> Iterator[None]:
    """Building the parser of `lumos evaluate` takes 40 ms; it is the same in each test."""
    build, parsers = command_group.build_command, dict[tuple[str, int], tuple[Any, Any]]()

    def build_once(name: str, table: Any) -> Any:
        key = name, id(table)
        if key not in parsers:
            parsers[key] = build(name, table), table  # so that no other table gets the same id
        return parsers[key][0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_group, "build_command", build_once)
        yield
