"""Fixtures for all tests."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lumos_queue.endpoints import pace
from lumos_queue.util.plugins import TRUSTED
from tests.command_line import CommandLine
from tests.services import memory_folder

pytest_plugins = [
    "tests.suite.servers",
    "tests.suite.schedule",
    "tests.suite.times",
    "tests.suite.progress",
    "tests.suite.reproduce",
    "tests.suite.garbage",
    "tests.suite.reuse",
]

ROOT = Path(__file__).resolve().parent.parent

# Without bytecode each worker compiles all test modules in each run, and each process that a test starts the project.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A commit of SQLite waits 13 ms for a disk, and not for memory.
if folder := memory_folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))

# How fast examples are made and run depends on the load of the machine.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_configure() -> None:
    """Set what the tests and the processes that they start inherit.

    A run in the background ignores Ctrl-C, and so would all that the tests start and stop by it. Torch computes with
    one thread: the models are small, and waiting threads take the CPU time of other tests.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    """Remove the settings of the user who runs the tests."""
    for name in list(os.environ):
        if name.startswith("LUMOS_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def trust_nothing_of_other_tests(monkeypatch):
    """Do not pass the modules and folders that a test names to later tests."""
    for name in ("_modules", "_user_modules"):
        monkeypatch.setattr(TRUSTED, name, set(getattr(TRUSTED, name)))
    monkeypatch.setattr(TRUSTED, "_folders", list(TRUSTED._folders))


@pytest.fixture(autouse=True)
def no_paces_of_other_tests(monkeypatch):
    """Forget the pace of endpoints: another test may have another server at the same port."""
    monkeypatch.setattr(pace, "_paces", {})


@pytest.fixture(autouse=True)
def no_logs_of_other_tests():
    """Drop the logs of heartbeats that other tests have left: their databases are gone."""
    other_threads = {thread.ident for thread in threading.enumerate() if thread.name == "heartbeat"}
    log = logging.getLogger("workers.session")

    def is_own(record: logging.LogRecord) -> bool:
        return record.thread not in other_threads

    log.addFilter(is_own)
    yield
    log.removeFilter(is_own)


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys) -> CommandLine:
    """The `lumos` command in this process, with an embedded database in a new folder."""
    return CommandLine(tmp_path / "home", monkeypatch, capsys)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real benchmark records beside the checkout, which is not part of the project."""
    return _find_shared_folder("data", "the benchmark records")


@pytest.fixture(scope="session")
def shared_spec() -> Path:
    """The folder of specifications beside the checkout."""
    return _find_shared_folder("spec", "the specifications")


def _find_shared_folder(name: str, description: str) -> Path:
    folder = ROOT.parent / "shared" / name
    if not folder.is_dir():
        message = f"needs {description} in ../shared/{name}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
