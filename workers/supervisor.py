"""Child processes of `lumos up`. Each line of a Procfile starts a child with its own log."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.process import die_with_parent
from lumos_queue.util.regular_file import read_regular_text

MAX_RESTARTS, WITHIN_SECONDS = 3, 60.0  #: a child that dies more often than this is not restarted
_LINE = re.compile(r"([A-Za-z0-9_-]+):\s*(\S.*)")


def read_procfile(file: Path) -> dict[str, list[str]]:
    """Return the command of each name, as a list of arguments. Comments and empty lines are skipped.

    Raises SpecError for any other line that is not `name: command`.
    """
    commands: dict[str, list[str]] = {}
    for number, line in enumerate(read_regular_text(file).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if not match:
            raise SpecError(f"{file}, line {number}: expected 'name: command', found '{line}'.")
        commands[match[1]] = shlex.split(match[2])
    return commands


@dataclass
class Child:
    """One command that is kept running. It has its own process group, so that Ctrl-C reaches only the parent."""

    name: str
    command: list[str]
    log: Path
    environment: Mapping[str, str] = field(repr=False)
    folder: Path  #: its working folder
    stdin: bytes = field(default=b"", repr=False)
    orphan_signal: signal.Signals = signal.SIGTERM  #: sent by the kernel if this process is killed
    process: subprocess.Popen[bytes] | None = None
    _deaths: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_RESTARTS + 1))

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE if self.stdin else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=partial(die_with_parent, os.getpid(), self.orphan_signal),  # called in the child
            )
        if self.stdin and self.process.stdin:
            self.process.stdin.write(self.stdin)
            self.process.stdin.close()

    @property
    def exit_status(self) -> int | None:
        """The exit status of the process, or None while it runs; negative if a signal has ended it."""
        return self.process.poll() if self.process else None

    def may_start_again(self) -> bool:
        self._deaths.append(time.monotonic())
        return len(self._deaths) <= MAX_RESTARTS or self._deaths[-1] - self._deaths[0] > WITHIN_SECONDS

    def ask_to_end(self) -> None:
        """Send TERM to the process but not to its children, because a Celery parent ends its own children."""
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def kill_group(self) -> None:
        """Kill the remaining processes of the child's process group."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def last_lines(self, count: int = 5) -> list[str]:
        try:
            return self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
        except OSError:
            return []


def end_children(children: list[Child], seconds: float) -> None:
    """Send TERM to all children, wait for at most `seconds`, then kill the remaining processes."""
    for child in children:
        child.ask_to_end()
    until = time.monotonic() + seconds
    while any(child.process and child.exit_status is None for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    for child in children:
        child.kill_group()
