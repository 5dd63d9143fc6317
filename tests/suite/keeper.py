"""The servers that the tests of one run share, in a process that ends with the run.

The controller of a run (pytest, or with `-n` the process that distributes the tests) starts `python -m
tests.suite.keeper` and holds the other end of its standard input. When that closes, because the run is over or because
the controller was killed, the keeper kills every process that still belongs to the run, stops its servers and removes
their folder. Workers ask the keeper for the URL of a server over a Unix socket; the keeper starts it for the first
request.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Client, Listener
from pathlib import Path

import psutil
import pytest

#: The folder of the run. Every process that a test starts inherits this variable, by which the keeper recognizes it.
VARIABLE = "LQ_TEST_RUN"


class Keeper:
    """The keeper of a run, for its controller."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lumos-tests-"))
        self.killed_commands: list[str] = []  #: command lines of processes that tests left running
        os.environ[VARIABLE] = str(self.folder)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.suite.keeper"],
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the controller
        )
        assert self._process.stdout
        self._process.stdout.readline()  # the keeper listens

    def stop(self) -> None:
        """End the run: returns when its servers are stopped and `killed` is known."""
        output, _ = self._process.communicate()
        self.killed_commands = json.loads(output) if output else []
        if os.environ.get(VARIABLE) == str(self.folder):
            del os.environ[VARIABLE]


def request_server(name: str) -> str:
    """Return the URL of the run's server of that name; the first request starts it.

    Raises LookupError with the reason when its programs are not installed, and RuntimeError when it did not start.
    """
    folder = Path(os.environ[VARIABLE])
    with Client(str(folder / "socket"), authkey=folder.name.encode()) as connection:
        connection.send_bytes(name.encode())
        answer = json.loads(connection.recv_bytes())
    if "missing" in answer:
        raise LookupError(answer["missing"])
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["url"]


def main() -> None:
    """Serve requests until standard input closes."""
    folder = Path(os.environ.pop(VARIABLE))  # servers must not count as leftovers of tests
    with ExitStack() as servers:
        listener = servers.enter_context(Listener(str(folder / "socket"), authkey=folder.name.encode(), backlog=64))
        end_event = threading.Event()
        threading.Thread(target=_answer_requests, args=(listener, servers, end_event), daemon=True).start()
        print("listens", flush=True)
        sys.stdin.read()
        end_event.set()
        commands = kill_processes(folder)
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(BrokenPipeError):
        print(json.dumps(commands), flush=True)


def _answer_requests(listener: Listener, servers: ExitStack, end_event: threading.Event) -> None:
    from tests.services import start_postgres, start_redis

    starts = {
        "postgres": lambda: servers.enter_context(start_postgres()).uri,
        "redis": lambda: servers.enter_context(start_redis()).url,
    }
    urls: dict[str, str] = {}
    while not end_event.is_set():
        with suppress(OSError, EOFError), listener.accept() as connection:
            name = connection.recv_bytes().decode()
            connection.send_bytes(json.dumps(_start(name, starts[name], urls)).encode())


def _start(name: str, start: Callable[[], str], urls: dict[str, str]) -> dict[str, str]:
    try:
        if name not in urls:
            urls[name] = start()
    except (pytest.skip.Exception, pytest.fail.Exception) as reason:
        return {"missing": str(reason)}
    except Exception as error:
        return {"error": f"{name} did not start: {type(error).__name__}: {error}"}
    return {"url": urls[name]}


def kill_processes(folder: Path) -> list[str]:
    """Kill the processes with `folder` in their environment variable; return their command lines."""
    commands = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(VARIABLE) == str(folder):
                command = " ".join(process.cmdline()) or process.name()
                process.kill()
                commands.append(command)
    return commands


if __name__ == "__main__":
    main()
