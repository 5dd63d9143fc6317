"""The process of a tracker: read steps on standard input, log them, and report on standard output.

A failure of the tracker is reported, and the step is tried again after a pause. The worker sends END after the last
step; then the process closes the run and exits. When the worker has died, standard input ends, and the process has ten
seconds to log what it has read.
"""

from __future__ import annotations

import fcntl
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.training.trackers.environment import hide_keys, missing_setting, prepare
from lumos_queue.training.trackers.messages import END, LoggedStep, Reply, RunHeader, Stage
from lumos_queue.training.trackers.runs.base import Logged, TrackerRun
from lumos_queue.util.model_loading import import_libraries

_LAST_SECONDS = 10  #: after the worker has died
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 8.0  #: seconds before a failed step is tried again
_NICENESS = 10  #: the fit has priority


class WorkerPipes:
    """The pipes to the worker. A thread reads the lines at once, so that the end of the worker is noticed."""

    def __init__(self) -> None:
        self._output = os.dup(1)
        self._input = os.dup(0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # packages ask questions and print
            os.dup2(null, number)
        os.close(null)
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.has_ended = threading.Event()  #: no more steps will come
        self._lines_done, self._stage, self._position = 0, Stage.IMPORTING, 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with os.fdopen(self._input, "rb") as source:
            for line in source:
                if line == END:
                    self.has_ended.set()
                self.lines.put(line)
        signal.alarm(_LAST_SECONDS)  # ends this process, whatever it waits for
        if not self.has_ended.is_set():
            self.has_ended.set()
            self.lines.put(END)

    def change_stage(self, stage: Stage) -> None:
        self._stage = stage
        self._send("")

    def confirm_line(self, position: int) -> None:
        """Report that a line was dealt with."""
        self._lines_done, self._position = self._lines_done + 1, position
        self._send("")

    def report(self, problem: str) -> None:
        self._send(hide_keys(problem))

    def _send(self, problem: str) -> None:
        try:
            os.write(self._output, Reply(self._stage, self._position, self._lines_done, problem).as_line())
        except OSError:  # the worker has died, but the steps can still be logged
            return


def main() -> int:
    os.nice(_NICENESS)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    pipes = WorkerPipes()
    header = RunHeader.from_line(pipes.lines.get())
    prepare(os.environ)
    try:
        if problem := missing_setting(header.tracker):
            raise SpecError(problem)
        pipes.change_stage(Stage.IMPORTING)
        logger = Logger(pipes, header, import_run(header.tracker)(header))
        return logger.log_all()
    except Exception as error:
        pipes.report(describe(error))
        return 1


def import_run(name: str) -> Callable[[RunHeader], TrackerRun]:
    """Import the packages of a tracker. Return the class of its runs."""
    with import_libraries():
        from accelerate import PartialState

        PartialState(cpu=True)  # else the first tracker would look for devices and ranks
        if name == "tensorboard":
            from lumos_queue.training.trackers.runs.tensorboard import TensorBoardRun

            return TensorBoardRun
        if name == "wandb":
            from lumos_queue.training.trackers.runs.wandb import WandbRun

            return WandbRun
        if name == "mlflow":
            from lumos_queue.training.trackers.runs.mlflow import MLflowRun

            return MLflowRun
        from lumos_queue.training.trackers.runs.trackio import TrackioRun

        return TrackioRun


class Logger:
    """Logs each step once, and tries again after a failure."""

    def __init__(self, pipes: WorkerPipes, header: RunHeader, run: TrackerRun):
        self._pipes, self._header, self._run = pipes, header, run
        self._lock: int | None = None  # of the run
        self._logged: Logged | None = None  # None: the run must be opened
        self._pause = _FIRST_PAUSE
        self._warned = False

    def log_all(self) -> int:
        """Log the steps until END. Return the exit code."""
        while step := LoggedStep.from_line(self._pipes.lines.get()):
            is_last_try = False
            while not self._log(step):
                if is_last_try:
                    return 1
                is_last_try = self._pipes.has_ended.wait(self._pause)
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._pause = _FIRST_PAUSE
            self._pipes.confirm_line(self._logged.position if self._logged else 0)
            self._report_warning()
        self._pipes.change_stage(Stage.FINISHING)
        if self._logged:
            self._run.finish()
        self._report_warning()
        self._pipes.change_stage(Stage.FINISHED)
        return 0

    def _log(self, step: LoggedStep) -> bool:
        """Log the figures that the run does not have. Return whether this succeeded; report a failure."""
        try:
            if self._logged is None:
                self._pipes.change_stage(Stage.WAITING)
                self._lock = self._lock or lock_run(self._header)
                self._pipes.change_stage(Stage.OPENING)
                self._logged = self._run.open()
                self._pipes.change_stage(Stage.RUNNING)
            if figures := self._logged.select_new(step.position, step.figures):
                self._run.log(step.position, figures)
                self._logged.add(step.position, figures)
        except SpecError:
            raise
        except Exception as error:
            self._logged = None
            self._pipes.report(describe(error))
            return False
        return True

    def _report_warning(self) -> None:
        if self._run.warning and not self._warned:
            self._warned = True
            self._pipes.report(self._run.warning)


def lock_run(header: RunHeader) -> int:
    """Wait until no other process logs to the run: that of a killed worker may still do so. Return the lock."""
    path = Path(header.folder) / f".{header.tracker}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def describe(error: Exception) -> str:
    """Return an error in one line; of a SpecError only its message."""
    return str(error) if isinstance(error, SpecError) else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # threads of packages may wait for servers
