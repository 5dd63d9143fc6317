"""Training jobs that are interrupted on purpose: how they are started, watched, stopped and continued."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from db.engine.connection import Database, open_database
from db.queue import job_changes
from db.queue.fence import end_session

#: A dead process is noticed soon, and a process that is asked to stop has time for a step on a busy machine.
VARIABLES = {
    "LUMOS_HEARTBEAT_SECONDS": "0.3",
    "LUMOS_FENCE_SECONDS": "5",
    "LUMOS_LEASE_SECONDS": "8",
    "LUMOS_DRAIN_SECONDS": "20",
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait for each other leave the processor to other processes
}
WAIT_SECONDS = 900.0  #: for a training process on a busy machine
PROGRESS = "SELECT session, claim, phase, step, start_step, checkpoint_step, checkpoint_seconds, restarts"
TERM, CTRL_C, PAUSE = "TERM", "Ctrl-C", "pause"
KILL, CUT_OFF, LOST_LEASE = "kill -9", "machine cut off", "lost lease"
CAUSES = (TERM, CTRL_C, PAUSE, KILL, CUT_OFF, LOST_LEASE)
#: After these the process has time for its step and a checkpoint.
WITHOUT_LOSS = (TERM, CTRL_C, PAUSE)
EARLY, MIDDLE, LATE = "early", "middle", "late"
INSTANTS = (EARLY, MIDDLE, LATE)


@dataclass(frozen=True, slots=True)
class Progress:
    """The row of the fit in the table training_progress."""

    session: int
    claim: int
    phase: str
    step: int
    start_step: int | None
    checkpoint_step: int
    checkpoint_seconds: float | None
    restarts: tuple[dict[str, float], ...]


@dataclass(frozen=True, slots=True)
class Interruption:
    """What one interruption has cost."""

    cause: str
    instant: str
    step: int  #: the latest that was reported before another process continued
    continued: int  #: the step where that process continued
    stored: int  #: steps lost as the table says
    checkpoint: int  #: step of the newest checkpoint that was reported before the interruption
    checkpoint_seconds: float | None  #: between two checkpoints, in force when it was interrupted

    @property
    def lost(self) -> int:
        """Reported steps that were done again."""
        return max(0, self.step - self.continued)


@dataclass
class InterruptedFit:
    """A training job in its own home, and the `lumos` process that works on it."""

    home: Path
    start: Callable[[Path], subprocess.Popen[str]]
    variables: dict[str, str] = field(default_factory=dict[str, str])
    job: str = ""
    former: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])  #: that were cut off

    def begin(self) -> None:
        self.process = self.start(self.home)

    def read(self) -> Progress | None:
        """Return the stored progress; None before the first report."""
        for row in self.ask(f"{PROGRESS} FROM training_progress WHERE fit = ''"):
            *figures, restarts = row
            return Progress(*figures, restarts=tuple(json.loads(restarts)))
        return None

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with (
            suppress(sqlite3.OperationalError),  # the database is being made
            closing(sqlite3.connect(f"file:{self.home / 'lumos.db'}?mode=ro", uri=True, timeout=30)) as connection,
        ):
            return connection.execute(query).fetchall()
        return []

    def wait(self, is_due: Callable[[Progress], bool], what: str) -> Progress:
        """Return the first progress for which `is_due` is true. The job must not end before."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            progress = self.read()
            if progress is not None and is_due(progress):
                return progress
            assert self.process.poll() is None, (what, progress, self.process.communicate())
            time.sleep(0.05)
        raise AssertionError(f"{what}: {self.read()}")

    def resume(self) -> None:
        self.process = lumos(self.home, "resume", self.job, **self.variables)

    def interrupt(self, cause: str, instant: str, at_step: int) -> Interruption:
        """Interrupt the fit when it has reached the step. Return when another process has continued it."""
        before = self.wait(lambda progress: has_own_step(progress) and progress.step >= at_step, f"step {at_step}")
        self.job = self.job or self.ask("SELECT id FROM job WHERE kind = 'train'")[0][0]
        former, seen = self.process, [before.step]
        self.apply(cause, instant)
        if progress := self.read():
            seen.append(progress.step)
        if cause != LOST_LEASE:
            self.resume()

        def has_continued(progress: Progress) -> bool:
            is_new = (progress.session, progress.claim) != (before.session, before.claim)
            if not is_new:
                seen.append(progress.step)
            return is_new and progress.start_step is not None

        after = self.wait(has_continued, f"a process after {cause}")
        assert after.start_step is not None
        if cause == CUT_OFF:
            self.wake(former)
        stored = after.restarts[len(before.restarts) :]
        assert len(stored) <= 1, stored
        lost = int(sum(restart["lost"] for restart in stored))
        newest, seconds = before.checkpoint_step, before.checkpoint_seconds
        return Interruption(cause, instant, max(seen), after.start_step, lost, newest, seconds)

    def apply(self, cause: str, instant: str) -> None:
        """Interrupt the job. Only after a lost lease the same process continues it."""
        process = self.process
        if cause in (TERM, CTRL_C):
            if cause == TERM:
                process.terminate()
            else:
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            assert wait_for_end(process) == 130
        elif cause == PAUSE:
            with self.open_database() as database:
                job_changes.pause(database, self.job)  # as `lumos pause` does, which would take a while to start
            wait_for_end(process)
        elif cause == KILL:
            os.killpg(process.pid, signal.SIGKILL)
            wait_for_end(process)
        elif cause == CUT_OFF:
            # The last time, the training processes continue beside those of the other worker.
            pause_processes([process.pid] if instant == LATE else list_family(process.pid))
        else:
            self._take_lease(is_unreachable=instant == MIDDLE)

    def _take_lease(self, *, is_unreachable: bool) -> None:
        """End the session of the process in the database, or keep it from writing for longer than its fence."""
        if is_unreachable:
            with closing(sqlite3.connect(self.home / "lumos.db", timeout=30, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                time.sleep(float(VARIABLES["LUMOS_FENCE_SECONDS"]) + 2)
                connection.execute("ROLLBACK")
            return
        session = self.list_sessions(self.process)[-1]
        with self.open_database() as database:
            end_session(database, session, has_died=True)

    @contextmanager
    def open_database(self) -> Iterator[Database]:
        database = open_database(f"sqlite:///{self.home / 'lumos.db'}")
        try:
            yield database
        finally:
            database.close()

    def list_sessions(self, process: subprocess.Popen[str]) -> list[int]:
        return [row[0] for row in self.ask(f"SELECT id FROM worker_session WHERE pid = {process.pid} ORDER BY id")]

    def wake(self, process: subprocess.Popen[str]) -> None:
        """Let the stopped process and its descendants run, and end it when it has had time to notice its end.

        The fit continues in another process meanwhile, so this does not wait for the end.
        """
        for pid in reversed(list_family(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        timer = threading.Timer(2.0, process.terminate)
        timer.start()
        self.former.append(process)

    def finish(self) -> dict[str, Any]:
        """Return the report of the job at its end, when the processes that were cut off have ended, too."""
        report = last_line(self.process)
        for process in self.former:
            wait_for_end(process)
        return report


def has_own_step(progress: Progress) -> bool:
    """Whether the process that works on the fit has done an optimizer step itself."""
    return progress.start_step is not None and progress.step > progress.start_step


def lumos(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start the command in its own process group."""
    environment = {**os.environ, **VARIABLES, "LUMOS_HOME": str(home), **variables}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def last_line(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, problems = process.communicate(timeout=1500)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


def wait_for_end(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def list_family(pid: int) -> list[int]:
    """Return the ids of a process and of its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def pause_processes(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def curve(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("step", "loss", "rate", "grad_norm", "tokens")
    return [tuple(row[name] for name in names) for row in report["training_steps"]]


def weights(folder: Path) -> dict[str, str]:
    """Return the digests of the weights that a fit has exported."""
    files = sorted(folder.glob("*.safetensors"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextmanager
def ended_at_exit(*fits: InterruptedFit) -> Iterator[None]:
    """End what a failed test leaves behind."""
    try:
        yield
    finally:
        for fit in fits:
            for process in (*fit.former, getattr(fit, "process", None)):
                if process is not None and process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
