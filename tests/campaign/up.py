"""A running `lumos up`, its processes by role, and how often its children may be made to die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from lumos_queue.util.process import die_with_parent
from tests.faults.groups import PLUGIN, ROOT
from tests.services import wait_until
from workers.supervisor import MAX_RESTARTS, WITHIN_SECONDS

#: A word of the command line of each child.
ROLES = {"worker_llm": "llm@%h", "worker_cpu": "cpu@%h", "flower": "flower", "dispatcher": "worker"}
HOLDING = ("worker_llm", "worker_cpu")  #: Celery workers: their children do the work
GONE = (psutil.NoSuchProcess, psutil.AccessDenied)


class Up:
    """Counts the deaths of each child: `lumos up` gives up when a child dies more than 3 times a minute."""

    def __init__(self, folder: Path, environment: Mapping[str, str]):
        self.output = folder / "up.txt"
        self._environment = {**environment, "PYTHONPATH": f"{ROOT}{os.pathsep}{PLUGIN}"}
        self._deaths: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MAX_RESTARTS - 1))
        self.frozen: set[int] = set()
        self.starts = 0

    def start(self) -> None:
        """Start `lumos up`, and return when it answers. Call it in the main thread, because it dies with its thread."""
        self.starts += 1
        began = self._size()
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lumos_queue.cli.main", "up"],
                stdout=output,
                stderr=output,
                cwd=ROOT,
                env=self._environment,
                preexec_fn=die_with_parent,
            )
        wait_until(lambda: "lumos is up" in self._read_output(began) or not self.alive, "lumos is up", 90)
        assert self.alive, self._read_output(began)

    def _size(self) -> int:
        return self.output.stat().st_size if self.output.exists() else 0

    def _read_output(self, since: int = 0) -> str:
        return self.output.read_bytes()[since:].decode("utf-8", "replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def last_lines(self, count: int = 8) -> str:
        return "\n".join(self._read_output().splitlines()[-count:])

    def processes(self) -> list[tuple[str, psutil.Process]]:
        """Return all processes with their roles; the role of a worker's child is `worker_llm child`."""
        processes = []
        with suppress(*GONE):
            top = psutil.Process(self.process.pid)
            processes.append(("lumos up", top))
            for child in top.children():
                role = _role(child)
                processes.append((role, child))
                with suppress(*GONE):
                    processes += [(f"{role} child", below) for below in child.children(recursive=True)]
        return processes

    def holders(self) -> list[tuple[str, psutil.Process]]:
        """Return the processes that may hold items, without frozen ones."""
        return [
            (role, process)
            for role, process in self.processes()
            if role in ("worker_llm child", "dispatcher") and process.pid not in self.frozen
        ]

    def children(self) -> list[tuple[str, psutil.Process]]:
        """Return the children of `lumos up` that may die once more now, without those with a frozen process."""
        now = time.monotonic()
        candidates = []
        for role, process in self.processes():
            if role not in ROLES:
                continue
            deaths = self._deaths[role]
            with suppress(*GONE):
                frozen_pids = self.frozen & {process.pid, *(below.pid for below in process.children())}
                if not frozen_pids and (len(deaths) < (deaths.maxlen or 0) or now - deaths[0] > WITHIN_SECONDS + 5.0):
                    candidates.append((role, process))
        return candidates

    def record_death(self, role: str) -> None:
        """Record that the campaign ends a child."""
        if role in ROLES:
            self._deaths[role].append(time.monotonic())

    def stop(self) -> None:
        """Kill all processes."""
        family = [process for _, process in self.processes()]
        for process in family:
            with suppress(*GONE):
                process.resume()
                process.kill()
        self.process.wait()


def _role(process: psutil.Process) -> str:
    with suppress(*GONE):
        words = process.cmdline()
        return next((role for role, word in ROLES.items() if word in words), "starting")
    return "gone"


def is_gone(process: psutil.Process) -> bool:
    with suppress(*GONE):
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    return True
