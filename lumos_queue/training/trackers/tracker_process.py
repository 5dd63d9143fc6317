"""The worker's side of the process of a tracker: two threads that write and read, so that the worker never waits."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from lumos_queue.training.trackers.messages import END, Reply, RunHeader, Stage, TrackedStep
from lumos_queue.util.launch_folder import VARIABLE, child_environment

log = logging.getLogger(__name__)
_WAITING_STEPS = 100_000  #: above which new steps are dropped until the next start
_UNCONFIRMED_LINES = 500  #: that the process may have
_SILENT_SECONDS = 60.0  #: without an answer, after which the log has a warning
_KILL_SECONDS = 10.0  #: without an answer, after which `close` kills the process
_OPENING_SECONDS = 30.0  #: the same while it opens the run: MLflow first creates its tables
_LONG_STAGES = (Stage.IMPORTING, Stage.WAITING, Stage.FINISHING)  #: without an answer


class TrackerProcess:
    """The process of a tracker, for one job. The first steps start it."""

    def __init__(self, header: RunHeader, folder: Path):
        """`folder`: where the process starts."""
        self.problem = ""  #: the first failure, in one line
        self.stage = Stage.IMPORTING
        self.position = 0  #: the newest that the tracker has logged
        self._header, self._folder = header, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._changed = threading.Condition()  # guards the fields below
        self._waiting: deque[Sequence[TrackedStep]] = deque()
        self._waiting_steps = 0
        self._is_behind = False  # whether steps were dropped
        self._sent_lines = self._confirmed_lines = 0
        self._asked_at: float | None = None  # when the process had to answer; None: it has answered everything
        self._is_ending = self._is_done = False
        self._writer: threading.Thread | None = None

    def put(self, steps: Sequence[TrackedStep]) -> None:
        """Log the steps, in the order of the calls. This never waits."""
        with self._changed:
            self._is_behind = self._is_behind or self._waiting_steps >= _WAITING_STEPS
            if steps and not (self._is_behind or self._is_ending or self._is_done):
                self._waiting.append(steps)
                self._waiting_steps += len(steps)
                self._changed.notify_all()
                if self._writer is None:
                    self._writer = threading.Thread(target=self._run, name="tracker", daemon=True)
                    self._writer.start()
            problem = self._describe_delay()
        if problem:
            self._note(problem)

    def _describe_delay(self) -> str:
        """Return what is wrong if the process is slow, or ''."""
        if self._silent_seconds() > _SILENT_SECONDS:
            return f"it has not answered for {_SILENT_SECONDS:.0f} s"
        if self._is_behind:
            return "it is too slow: further steps are logged at the next start of a worker"
        return ""

    def end(self) -> None:
        """Take no more steps, and let the process close the run."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()

    def wait(self, deadline: float) -> None:
        """Wait after `end` for the end of the process, or kill it. `deadline`: of time.monotonic()."""
        if self._writer is None:
            return
        with self._changed:
            while not self._is_done:
                now = time.monotonic()
                limit = _OPENING_SECONDS if self.stage is Stage.OPENING else _KILL_SECONDS
                if now >= deadline or self._silent_seconds() > limit:
                    break
                self._changed.wait(min(deadline - now, 1.0))
            is_done = self._is_done
        if not is_done:
            self._note(
                "it was ended without an answer: the steps that it lacks are logged at the next start of a worker"
            )
            self._finish()
            self._kill()
        self._writer.join(1.0)

    def _silent_seconds(self) -> float:
        """Return for how long the process owes an answer that should come soon."""
        if self._asked_at is None or self.stage in _LONG_STAGES:
            return 0.0
        return time.monotonic() - self._asked_at

    def _kill(self) -> None:
        """Kill the process and those that it has started."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _run(self) -> None:
        """Start the process and write to it, until it ends or all steps are written."""
        try:
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lumos_queue.training.trackers.process"],
                cwd=self._folder,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C reaches the worker alone
            )
        except OSError as error:
            self._note(f"its process does not start: {error.strerror}")
            self._finish()
            return
        if self._is_done:  # `wait` has given up
            self._kill()
        reader = threading.Thread(target=self._read, args=(process,), name="tracker", daemon=True)
        reader.start()
        assert process.stdin is not None
        try:
            self._write_all(process.stdin.fileno())
            reader.join()  # standard input stays open: its end would limit the time of the process
        except OSError:  # the process has ended; the reader says why
            reader.join()
        finally:
            process.stdin.close()

    def _write_all(self, descriptor: int) -> None:
        """Write the header, the steps and END. Raises OSError if the process has ended."""
        _write(descriptor, self._header.as_line())
        numbers = Positions()
        while (steps := self._next_steps()) is not None:
            for step in steps:
                self._await_room()
                _write(descriptor, step.as_line(numbers.of(step)))
                with self._changed:
                    self._waiting_steps -= 1
        _write(descriptor, END)

    def _next_steps(self) -> Sequence[TrackedStep] | None:
        """Wait for steps. Return None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_ending or self._is_done)
            if self._is_done:
                raise BrokenPipeError
            return self._waiting.popleft() if self._waiting else None

    def _await_room(self) -> None:
        """Wait until the process may have one more line. Raises BrokenPipeError if it has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_done or self._sent_lines - self._confirmed_lines < _UNCONFIRMED_LINES
            )
            if self._is_done:
                raise BrokenPipeError
            self._sent_lines += 1
            if self._asked_at is None:
                self._asked_at = time.monotonic()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Read the replies until the process ends."""
        assert process.stdout is not None
        with process.stdout as replies:
            for line in replies:
                self._take(Reply.from_line(line))
        code = process.wait()
        if self.stage is not Stage.FINISHED:
            self._note(
                f"its process was ended by signal {-code}" if code < 0 else f"its process ended with code {code}"
            )
        self._finish()

    def _take(self, reply: Reply) -> None:
        """Take note of a reply."""
        with self._changed:
            self.stage, self.position = reply.stage, max(self.position, reply.position)
            self._confirmed_lines = reply.lines
            self._asked_at = time.monotonic() if self._confirmed_lines < self._sent_lines else None
            self._changed.notify_all()
        if reply.problem:
            self._note(reply.problem)

    def _note(self, problem: str) -> None:
        """Keep the first failure, and write it to the log."""
        with self._changed:
            if self.problem:
                return
            self.problem = f"{self._header.tracker}: {problem}"
        log.warning("Job %s continues without its tracker. %s", self._header.job, self.problem)

    def _finish(self) -> None:
        with self._changed:
            self._is_done = True
            self._waiting.clear()
            self._changed.notify_all()


class Positions:
    """Numbers the steps within a job, whose fits follow each other."""

    def __init__(self) -> None:
        self._newest = 0
        self._offsets: dict[str, int] = {}  # of a fit: the number of steps before its first

    def of(self, step: TrackedStep) -> int:
        """Return the number of a step, from 1. The steps of the earlier fits must have been numbered."""
        position = self._offsets.setdefault(step.fit, self._newest) + step.step
        self._newest = max(self._newest, position)
        return position


def _write(descriptor: int, line: bytes) -> None:
    """Write all bytes to a pipe."""
    while line:
        line = line[os.write(descriptor, line) :]


def _environment() -> dict[str, str]:
    """Return the environment of the process: without the settings of this project, which may have passwords."""
    variables = child_environment()
    return {name: setting for name, setting in variables.items() if not name.startswith("LUMOS_") or name == VARIABLE}
