"""The curve of a fit: losses or rewards over optimizer steps, and what happened at which step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

from db.queries.fit_curves import CurvePart

MAX_PARTS = 60  #: parts of a curve


class DevLoss(NamedTuple):
    """A loss on the development conversations, and the step after which it was computed."""

    step: int
    loss: float


@dataclass(frozen=True, slots=True)
class FitCurve:
    """The curve of a fit."""

    fit: str  #: its name within the job; '' for the only one
    quantity: str  #: loss or reward
    parts: Sequence[CurvePart]
    dev_losses: Sequence[DevLoss] = ()
    best: DevLoss | None = None  #: the lowest of them
    window_ends: Sequence[int] = ()  #: the last steps of windows
    restarts: Sequence[int] = ()  #: steps after which another process continued

    @property
    def part_size(self) -> int:
        """The number of steps of a part, except the last part."""
        return self.parts[0].last - self.parts[0].first + 1 if self.parts else 1


def part_size(steps: int) -> int:
    """Return the number of steps in each part of a curve of at most MAX_PARTS parts."""
    return max(1, -(-steps // MAX_PARTS))


def average_steps(steps: Sequence[tuple[int, float | None]], size: int) -> Iterator[CurvePart]:
    """Yield the means of each `size` consecutive pairs of step and value. A value that is not finite counts as None."""
    for start in range(0, len(steps), size):
        part = steps[start : start + size]
        values = [figure for _, figure in part if figure is not None and isfinite(figure)]
        mean = sum(values) / len(values) if len(values) == len(part) else None
        yield CurvePart(part[0][0], part[-1][0], mean)


def read_dev_losses(output: Any) -> list[DevLoss]:
    """Return the development losses in the output of an item: all (`evaluations`), or that after its last step."""
    pairs = output.get("evaluations") or [(output.get("step", 0), output.get("dev_loss"))]
    return [DevLoss(int(step), loss) for step, loss in pairs if loss is not None and isfinite(loss)]


def find_best(dev_losses: Sequence[DevLoss]) -> DevLoss | None:
    """Return the lowest loss, the first of equal ones; None without one."""
    return min(dev_losses, key=lambda evaluation: evaluation.loss, default=None)
