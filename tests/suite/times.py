"""Plugin: with `--times FOLDER`, record the costs of each test, one JSON object per line in a file per process.

Each phase (setup, call, teardown) has, in seconds: `wall`; `cpu` of this process; `children`, the CPU of its children
that ended; and of the main thread `sleep`, `subprocess` (starting and waiting), `database` (executing statements) and
`import`. `heavy` lists the packages, of torch and transformers, that the test used.
"""

from __future__ import annotations

import builtins
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

HEAVY = frozenset({"torch", "transformers"})
SHORTEST_FIXTURE = 0.02  #: seconds; shorter ones are not listed


class Clock:
    """The seconds of the main thread so far, by kind."""

    def __init__(self) -> None:
        self.spent = {"sleep": 0.0, "subprocess": 0.0, "database": 0.0, "import": 0.0}
        self.heavy: set[str] = set()  #: packages of HEAVY that import statements named, loaded or not
        self._kind = ""

    def time_calls(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a timer that adds its time to the kind; nested calls are not counted again."""

        def call(*arguments: Any, **options: Any) -> Any:
            if self._kind or threading.current_thread() is not threading.main_thread():
                return function(*arguments, **options)
            self._kind = kind
            began = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.spent[kind] += time.perf_counter() - began
                self._kind = ""

        return call

    def install(self) -> None:
        """Time the waiting functions for the rest of the process."""
        time.sleep = self.time_calls("sleep", time.sleep)
        for name in ("__init__", "wait", "communicate"):
            setattr(subprocess.Popen, name, self.time_calls("subprocess", getattr(subprocess.Popen, name)))
        plain, timed_import = builtins.__import__, self.time_calls("import", builtins.__import__)

        def import_module(name: str, *arguments: Any, **options: Any) -> Any:
            package = name.partition(".")[0]
            if package in HEAVY:
                self.heavy.add(package)
            return (plain if name in sys.modules else timed_import)(name, *arguments, **options)

        builtins.__import__ = import_module

        @event.listens_for(Engine, "before_cursor_execute")
        def begin(connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
            context.execution_began = time.perf_counter()

        @event.listens_for(Engine, "after_cursor_execute")
        def end(connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
            if threading.current_thread() is threading.main_thread():
                self.spent["database"] += time.perf_counter() - context.execution_began

    def read(self) -> dict[str, float]:
        """Return all figures so far."""
        own_usage, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "wall": time.perf_counter(),
            "cpu": own_usage.ru_utime + own_usage.ru_stime,
            "children": children.ru_utime + children.ru_stime,
            **self.spent,
        }


class Recorder:
    """Writes the cost of collection, tests and fixtures."""

    def __init__(self, folder: Path):
        self.worker = os.environ.get("PYTEST_XDIST_WORKER", "controller")
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{self.worker}.jsonl").open("w", buffering=1, encoding="utf-8")
        self._clock = Clock()
        self._clock.install()
        self._phases: dict[str, Any] = {}
        self._fixtures: list[tuple[str, str, str, float]] = []

    def measure(self, name: str) -> Iterator[None]:
        """Measure a phase of a test."""
        before = self._clock.read()
        try:
            return (yield)
        finally:
            self._phases[name] = _difference(before, self._clock.read())

    def write(self, **values: Any) -> None:
        self._file.write(json.dumps({**values, "heavy": sorted(self._clock.heavy)}) + "\n")
        self._clock.heavy.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        before = self._clock.read()
        try:
            return (yield)
        finally:
            after = self._clock.read()
            self.write(collection=_difference(before, after), start=before["cpu"])

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            seconds = time.perf_counter() - began
            if seconds > SHORTEST_FIXTURE:
                self._fixtures.append((fixturedef.argname, fixturedef.baseid, fixturedef.scope, round(seconds, 3)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        return (yield from self.measure("setup"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        return (yield from self.measure("call"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        try:
            return (yield from self.measure("teardown"))
        finally:
            self.write(test=item.nodeid, **self._phases, fixtures=self._fixtures)
            self._phases, self._fixtures = {}, []


def _difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    differences = {kind: round(after[kind] - before[kind], 4) for kind in after}
    return {kind: seconds for kind, seconds in differences.items() if seconds > 0}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", metavar="FOLDER", type=Path, help="record what each test costs in files of FOLDER")


def pytest_configure(config: pytest.Config) -> None:
    if folder := config.getoption("--times"):
        config.pluginmanager.register(Recorder(folder.absolute()), "times recorder")
