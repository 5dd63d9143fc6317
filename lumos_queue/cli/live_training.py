"""The live progress of a training job: its fits, or its pace before the first report, and awaited rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from db.kinds.states import JobState
from lumos_queue.live.fit_progress import describe_fit, select_current
from lumos_queue.live.waits import describe_awaited
from lumos_queue.util.wording import format_rate

if TYPE_CHECKING:
    from lumos_queue.live.figures import JobFigures


def describe_training(figures: JobFigures, per_second: float) -> list[str]:
    """Return lines about fits, rollouts and reward for the job's block. `per_second`: the pace in items per second."""
    lines, fits = [], select_current(figures.fits)
    if figures.awaited:
        lines.append("waits for " + describe_awaited(figures.row, figures.awaited).removeprefix(" · "))
    elif not fits:
        lines.append(f"{format_rate(60 * per_second)} items/min")
    has_state = not figures.awaited and figures.row.state != JobState.DONE
    lines += [line for fit in fits for line in describe_fit(fit, has_state)]
    if endings := figures.awaited_endings:
        lines.append("rollouts so far  " + "  ".join(f"{name} {count:,}" for name, count in sorted(endings.items())))
    if latest := figures.feedback:
        lines.append(f"step {latest['step']}: mean reward {latest['reward']:.3f}, baseline {latest['baseline']:.3f}")
    return lines
