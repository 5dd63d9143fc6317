"""Report the progress of a training process to its worker, and read the worker's request to stop.

The two share a folder. The process writes lines of JSON to a named pipe and never waits for the reader: a line is lost
when the pipe is full. A file in the folder asks the process to stop at its next optimizer step, and so does SIGTERM.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lumos_queue.records import FitPhase, FitProgress, TrainingStep
from lumos_queue.training.engine.duration import estimate_seconds

PIPE, STOP = "progress", "stop"  #: names in the shared folder
RECENT_STEPS = 20  #: optimizer steps whose duration gives the rate and the remaining time


class Reporter:
    """The reports of this process. `folder`: shared with the worker; None: nobody reads reports or requests a stop."""

    def __init__(self, folder: Path | None = None, progress: FitProgress | None = None):
        """`progress`: of the process that started this one for the same fit."""
        self.folder = folder
        self._pipe: int | None = None
        self._has_signal = False
        self.progress = progress or FitProgress(phase=FitPhase.LOADING)
        self._recent: deque[tuple[float, int]] = deque(maxlen=RECENT_STEPS + 1)  # time and tokens of steps
        if folder is not None:
            with contextlib.suppress(OSError):  # the worker has ended
                self._pipe = os.open(folder / PIPE, os.O_WRONLY | os.O_NONBLOCK)

    def stop_at_signals(self) -> None:
        """Take SIGTERM as a request to stop. Only the main thread of a process can call this."""
        signal.signal(signal.SIGTERM, self._note_signal)

    def is_stop_requested(self) -> bool:
        """Return whether the process should write a checkpoint and end."""
        return self._has_signal or (self.folder is not None and (self.folder / STOP).exists())

    def update(self, phase: FitPhase, **changes: Any) -> None:
        """Report that a phase begins, and other changes of the progress (fields of FitProgress)."""
        self.progress = replace(self.progress, phase=phase, **changes)
        if phase == FitPhase.TRAINING and not self._recent:
            self._recent.append((time.monotonic(), 0))
        self._send({})

    def report_step(self, step: TrainingStep, **changes: Any) -> None:
        """Report an optimizer step, and other changes of the progress."""
        self._recent.append((time.monotonic(), step.tokens))
        seconds = self._recent[-1][0] - self._recent[0][0]
        tokens = sum(count for _, count in list(self._recent)[1:])
        times = [at for at, _ in self._recent]
        step_seconds = [end - begin for begin, end in pairwise(times)]
        self._note_step(
            step,
            tokens_per_second=tokens / seconds if tokens and seconds else None,  # pictures have no tokens
            seconds_left=estimate_seconds(step_seconds, max(0, self.progress.steps - step.step)),
            **changes,
        )

    def repeat_steps(self, steps: Sequence[TrainingStep]) -> None:
        """Report the steps of an earlier process that are in the checkpoint, in case that its reports were lost."""
        for step in steps:
            self._note_step(step)

    def _note_step(self, step: TrainingStep, **changes: Any) -> None:
        figures = {"loss": step.loss, "rate": step.rate, "grad_norm": step.grad_norm, "memory": step.memory}
        self.progress = replace(self.progress, step=step.step, **figures, **changes)
        self._send({"tokens": step.tokens})

    def _send(self, values: dict[str, Any]) -> None:
        if self._pipe is None:
            return
        line = json.dumps({"progress": asdict(self.progress), **values}) + "\n"
        with contextlib.suppress(OSError):  # the pipe is full, or the worker has ended
            os.write(self._pipe, line.encode())

    def _note_signal(self, *_: object) -> None:
        self._has_signal = True


#: For callers without a worker.
SILENT = Reporter()
