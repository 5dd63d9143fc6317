"""The newest report of the training process of a slice. The heartbeat stores it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from db.queue.training_progress import ProgressReport
from lumos_queue.records import FitPhase, FitProgress

MAX_POINTS = 100  #: of the curve of one item
#: Phases that interrupt the training for a moment.
_SHORT = (FitPhase.EVALUATING, FitPhase.SAVING)


class ProgressBoard:
    """Keeps the newest report of the item that runs, with its curve and the time at which its phase began.

    The event loop writes it, and the heartbeat's thread reads it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._item = 0
        self._progress: FitProgress | None = None
        self._starts: dict[FitPhase, float] = {}
        self._points: list[tuple[int, float]] = []
        self._stride = 1  # steps between two points

    def begin(self, item: int) -> None:
        """Note that an item begins. It is the only one that runs."""
        with self._lock:
            fit = self._progress and self._progress.fit
            self._item, self._points, self._stride = item, [], 1
            # Until its process reports, the item is loading: the former phase has ended.
            self._progress = None if fit is None else FitProgress(phase=FitPhase.LOADING, fit=fit)
            self._starts = {FitPhase.LOADING: time.monotonic()}

    def note(self, report: Mapping[str, Any]) -> None:
        """Note a report: a line of the training process (engine/progress.py)."""
        progress = read_progress(report)
        with self._lock:
            if progress.phase in _SHORT and (self._progress is None or progress.phase != self._progress.phase):
                self._starts[progress.phase] = time.monotonic()
            self._starts.setdefault(progress.phase, time.monotonic())
            self._progress = progress
            if "tokens" in report and progress.curve_figure is not None:
                self._add_point(progress.step, progress.curve_figure)

    def read(self) -> ProgressReport | None:
        """Return the newest report; None before the first one."""
        with self._lock:
            if self._progress is None:
                return None
            seconds = time.monotonic() - self._starts[self._progress.phase]
            return ProgressReport(self._item, self._progress, seconds, tuple(self._points))

    def _add_point(self, step: int, figure: float) -> None:
        while self._points and self._points[-1][0] >= step:  # the steps are repeated with less memory
            self._points.pop()
        if step % self._stride == 0:
            self._points.append((step, figure))
        if len(self._points) > MAX_POINTS:
            self._stride *= 2
            self._points = [point for point in self._points if point[0] % self._stride == 0]


def read_progress(report: Mapping[str, Any]) -> FitProgress:
    """Return the progress of a report. A number that is not finite becomes None: databases refuse it.

    Raises KeyError, TypeError or ValueError for another value than a process of this version writes.
    """
    values: dict[str, Any] = {
        name: None if isinstance(figure, float) and not math.isfinite(figure) else figure
        for name, figure in report["progress"].items()
    }
    values["phase"] = FitPhase(values["phase"])
    return FitProgress(**values)
