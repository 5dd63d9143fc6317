"""Worker process groups, as a service manager would start them: the targets of faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = Path(__file__).resolve().parent / "plugin"
COMMANDS = {
    "dispatcher": (sys.executable, "-m", "lumos_queue.cli.main", "worker", "--pools", "llm"),
    "celery": (
        sys.executable,
        "-m",
        "celery",
        "-A",
        "workers.app",
        "worker",
        "-Q",
        "llm",
        "-c",
        "1",
        "-l",
        "INFO",
        "--without-gossip",
        "--without-mingle",
    ),
}


class Group:
    """A dispatcher, or a Celery worker with one child. Only one process of the group holds items."""

    def __init__(self, kind: str, name: str, folder: Path, environment: Mapping[str, str], source: Path = ROOT):
        """`source`: the folder of the code it runs."""
        self.kind, self.name, self.log = kind, name, folder / f"{name}.log"
        self._environment = {**environment, "PYTHONPATH": f"{source}{os.pathsep}{PLUGIN}"}
        self._source = source
        self.start()

    def start(self) -> None:
        command = COMMANDS[self.kind]
        if self.kind == "celery":
            command = (*command, "-n", f"{self.name}-{os.getpid()}@%h")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self._environment, cwd=self._source, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def holder(self) -> int | None:
        """Return the id of the process that holds items; None before Celery has started its child."""
        if self.kind == "dispatcher":
            return self.process.pid
        with suppress(psutil.NoSuchProcess):
            return next((child.pid for child in psutil.Process(self.process.pid).children()), None)
        return None

    def signal(self, number: int) -> None:
        """Send a signal to all processes of the group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait()

    def kill_holder(self) -> None:
        """Kill only the process that holds items; its parent, if any, starts another."""
        holder = self.holder()
        if holder is None or holder == self.process.pid:
            return self.kill()
        with suppress(ProcessLookupError):
            os.kill(holder, signal.SIGKILL)

    def has_logged(self, text: str) -> bool:
        return self.log.exists() and text in self.log.read_text(encoding="utf-8", errors="replace")
