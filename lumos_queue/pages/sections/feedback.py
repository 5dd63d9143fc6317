"""The optimizer steps of a fit that learns from rewards, and the remarks on its steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.reports.training import RewardStep, TrainingPart
from lumos_queue.util.wording import MISSING, format_share

MAX_STEPS = 12  #: steps of the table; of a longer fit, evenly spread steps with the first and the last


def feedback(steps: Sequence[RewardStep], windows: Sequence[TrainingPart]) -> Iterator[Block]:
    """Yield a table of the steps (`feedback_steps` of a report), and the notes of the windows with their steps."""
    has_epsilon = any(step.epsilon for step in steps)
    heads = ["step", "reward", "baseline", "feasible", "entropy", "KL", *["epsilon"] * has_epsilon, "rollouts"]
    rows = [
        [
            f"{step.step:,}",
            f"{step.reward:.3f}",
            f"{step.baseline:.3f}",
            MISSING if step.feasible is None else format_share(step.feasible),
            f"{step.entropy:.2f}",
            f"{step.kl:.3f}",
            *[f"{step.epsilon:.3f}"] * has_epsilon,
            step.rollouts,
        ]
        for step in _spread(steps)
    ]
    note = f"{MAX_STEPS} of {len(steps):,} steps. All of them: --json" if len(steps) > MAX_STEPS else ""
    yield Table("", heads, rows, note, texts=frozenset({len(heads) - 1}))
    steps_by_note = defaultdict(list)
    for window in windows:
        for text in window.notes if window.reward is not None else ():
            steps_by_note[text].append(window.step)
    yield from (Text(f"note: {text} ({format_steps(numbers)})") for text, numbers in steps_by_note.items())


def format_steps(steps: Sequence[int]) -> str:
    """Return ascending steps as text: 'steps 1, 4 to 6'."""
    runs: list[list[int]] = []
    for step in steps:
        if runs and step == runs[-1][-1] + 1:
            runs[-1].append(step)
        else:
            runs.append([step])
    ranges = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
    return f"step{'s' * (len(steps) > 1)} {ranges}"


def _spread(steps: Sequence[RewardStep]) -> list[RewardStep]:
    if len(steps) <= MAX_STEPS:
        return list(steps)
    last = len(steps) - 1
    return [steps[round(index * last / (MAX_STEPS - 1))] for index in range(MAX_STEPS)]
