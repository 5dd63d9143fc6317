"""The live progress of a training job: its pace, the rollouts that it waits for, and its latest reward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.live.waits import describe_awaited
from lumos_queue.util.wording import format_rate

if TYPE_CHECKING:
    from lumos_queue.live.figures import JobFigures


def describe_training(figures: JobFigures, per_second: float) -> list[str]:
    """Return lines about pace, rollouts and reward for the job's block. `per_second`: the pace in items per second."""
    lines = [f"{format_rate(60 * per_second)} items/min{describe_awaited(figures.row, figures.awaited)}"]
    if endings := figures.awaited_endings:
        lines.append("rollouts so far  " + "  ".join(f"{name} {count:,}" for name, count in sorted(endings.items())))
    if latest := figures.feedback:
        lines.append(f"step {latest['step']}: mean reward {latest['reward']:.3f}, baseline {latest['baseline']:.3f}")
    return lines
