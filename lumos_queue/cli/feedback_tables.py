"""Print the optimizer steps of a fit that learns from rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output

MAX_SHOWN = 24  #: steps; of a longer fit, evenly spread ones with the first and the last


def print_feedback(steps: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each step; if there are more than MAX_SHOWN, for MAX_SHOWN of them."""
    table = Table(box=box.SIMPLE_HEAD)
    has_epsilon = any(step["epsilon"] for step in steps)
    names = ("step", "reward", "baseline", "feasible", "entropy", "KL", *["epsilon"] * has_epsilon, "rollouts")
    for name in names:
        table.add_column(name, justify="left" if name == "rollouts" else "right", no_wrap=True)
    for step in _spread(steps):
        table.add_row(
            str(step["step"]),
            f"{step['reward']:.3f}",
            f"{step['baseline']:.3f}",
            "" if step["feasible"] is None else f"{100 * step['feasible']:.0f} %",
            f"{step['entropy']:.2f}",
            f"{step['kl']:.3f}",
            *[f"{step['epsilon']:.3f}"] * has_epsilon,
            step["rollouts"],
        )
    output.console().print(table)
    if len(steps) > MAX_SHOWN:
        output.console().print(f"  {MAX_SHOWN} of {len(steps)} steps; --json has all of them, as has v_feedback_steps")


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


def _spread(steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if len(steps) <= MAX_SHOWN:
        return list(steps)
    last = len(steps) - 1
    return [steps[round(index * last / (MAX_SHOWN - 1))] for index in range(MAX_SHOWN)]
