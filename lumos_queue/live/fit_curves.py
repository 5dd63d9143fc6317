"""Read the curves of the fits at work: accepted steps, and those that were reported since."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from db.engine.connection import Connection
from db.queries.fit_curves import StoredCurve, read_curve
from db.queries.training_progress import StoredProgress
from lumos_queue.reports.fit_curve import (
    CurvePart,
    DevLoss,
    FitCurve,
    average_steps,
    find_best,
    part_size,
    read_dev_losses,
)


class _Read(NamedTuple):
    """The accepted steps as of a read of the database."""

    accepted_step: int
    size: int  #: steps of a part
    curve: StoredCurve


class CurveReader:
    """Reads the curves of a job's fits, and their accepted steps again only when there are new steps."""

    def __init__(self) -> None:
        self._reads: dict[str, _Read] = {}

    def read(self, connection: Connection, job: str, fits: Sequence[StoredProgress]) -> list[FitCurve]:
        """Return the curve of each fit that has steps."""
        curves = [self._read_fit(connection, job, fit) for fit in fits]
        return [curve for curve in curves if curve.parts]

    def _read_fit(self, connection: Connection, job: str, fit: StoredProgress) -> FitCurve:
        progress, size = fit.progress, part_size(max(fit.progress.step, fit.accepted_step))
        read = self._reads.get(progress.fit)
        if read is None or (read.accepted_step, read.size) != (fit.accepted_step, size):
            curve = read_curve(connection, job, progress.fit, size)
            read = self._reads[progress.fit] = _Read(fit.accepted_step, size, curve)
        stored = read.curve
        dev_losses = [evaluation for output in stored.outputs for evaluation in read_dev_losses(output)]
        best = find_best(dev_losses)
        if progress.best_step is not None and progress.best_dev_loss is not None:
            best = DevLoss(progress.best_step, progress.best_dev_loss)
            if best.step not in {evaluation.step for evaluation in dev_losses}:
                dev_losses = sorted([*dev_losses, best])
        return FitCurve(
            progress.fit,
            "reward" if stored.is_reward or progress.reward is not None else "loss",
            [*stored.parts, *_average_points(_list_points(fit), size)],
            dev_losses,
            best,
            stored.window_ends,
            [restart.step for restart in fit.restarts],
        )


def _list_points(fit: StoredProgress) -> list[tuple[int, float]]:
    """Return the reported points of a fit with its latest step, which the points of a long window may lack."""
    points, progress = list(fit.points), fit.progress
    figure = progress.curve_figure
    if figure is not None and progress.step > max([fit.accepted_step, *(step for step, _ in points)]):
        points.append((progress.step, figure))
    return points


def _average_points(points: Sequence[tuple[int, float]], size: int) -> list[CurvePart]:
    """Return the means of the reported points of each `size` steps; a long window has fewer points than steps."""
    parts = [list(part) for _, part in groupby(points, key=lambda point: (point[0] - 1) // size)]
    return [mean for part in parts for mean in average_steps(part, len(part))]
