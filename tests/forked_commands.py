"""Processes that start with the project imported: each is forked from a server that only imports.

A new interpreter takes about a second of CPU time until it runs a job. A fork takes milliseconds, and shares no
connection, thread or cache with the test. Tests of start-up and packaging need a new interpreter.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from tests.services import wait_until

ROOT = Path(__file__).resolve().parent.parent
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A process that calls a function of a module; its exit code is the return value."""

    def __init__(
        self,
        function: Callable[..., int | None],
        *arguments: Any,
        environment: Mapping[str, str] | None = None,
        path: Sequence[str | Path] = (),
        folder: Path = ROOT,
        terminal: str = "",
        log: Path | None = None,
    ):
        """`environment`: all variables. `path`: folders that are searched first for modules.

        `folder`: its working directory. `terminal`: the device that it reads from and prints to.
        `log`: a file to which it prints everything.
        """
        self._out, self._err = NamedTemporaryFile(), NamedTemporaryFile()  # noqa: SIM115
        variables = dict(os.environ if environment is None else environment)
        files = (os.devnull, self._out.name, self._err.name)
        if terminal:
            files = (terminal, terminal, terminal)
        elif log is not None:
            log.touch()
            files = (os.devnull, str(log), str(log))
        setup = (variables, [str(entry) for entry in path], str(folder), files)
        self._process = _CONTEXT.Process(target=_call, args=(function, arguments, *setup))
        with chdir(ROOT):  # the first process starts the server, which imports `tests.preloaded` from here
            forkserver.ensure_running()
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid
        return self._process.pid

    @property
    def out(self) -> str:
        """The output so far."""
        return Path(self._out.name).read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return Path(self._err.name).read_text(encoding="utf-8")

    def poll(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def expect(self, text: str, seconds: float = 60.0) -> None:
        """Wait until the text is in the output."""
        wait_until(lambda: text in self.out + self.err or self.poll() is not None, f"it prints '{text}'", seconds)
        assert text in self.out + self.err, f"'{text}' was not printed, but:\n{self.out}{self.err}"

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for the end, and return the exit code; fail the test when that takes too long."""
        self._process.join(timeout)
        code = self._process.exitcode
        assert code is not None, f"It runs for longer than {timeout:g} s:\n{self.out}{self.err}"
        return code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        """Kill the process, and wait for its end."""
        self._process.kill()
        self.wait()


def end_server() -> None:
    """End the server, at the end of a test run. The standard library has no public call for this."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def fork_lumos(*arguments: object, **options: Any) -> Forked:
    """Start the `lumos` command in a process; the options are those of `Forked`."""
    return Forked(_lumos, [str(argument) for argument in arguments], **options)


def fork_celery(arguments: Sequence[str], **options: Any) -> Forked:
    """Start the `celery` command in a process; the options are those of `Forked`."""
    return Forked(_celery, list(arguments), **options)


def _celery(arguments: Sequence[str]) -> None:
    from celery.bin.celery import main

    sys.argv = ["celery", *arguments]
    main()


def _lumos(arguments: Sequence[str]) -> int:
    from lumos_queue.cli.main import main

    return main(arguments)


def _call(
    function: Callable[..., int | None],
    arguments: Sequence[Any],
    variables: Mapping[str, str],
    path: Sequence[str],
    folder: str,
    files: Sequence[str],
) -> None:
    os.setsid()  # so that signals to its process group do not reach the tests
    for number, name in enumerate(files):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:0] = path
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(function(*arguments))
