"""Plot the course of a fit from rewards: rewards, feasible plans, and the distance of the policy from its start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lumos_queue.records import FeedbackStep
from lumos_queue.util.model_loading import import_libraries

SHARE = "feasible plans"


def write_plot(steps: Sequence[FeedbackStep], path: Path) -> None:
    """Write the figures of the steps as SVG: panels one below another, with optimizer steps on the horizontal axis."""
    with import_libraries():
        import matplotlib

    matplotlib.use("svg")
    with import_libraries():
        from matplotlib import pyplot

    lines = [
        ("reward", {"reward": [step.reward for step in steps], "baseline": [step.baseline for step in steps]}),
        (SHARE, {"share": [step.feasible for step in steps]}),
        ("nats", {"entropy": [step.entropy for step in steps], "KL to the start": [step.kl for step in steps]}),
    ]
    if all(step.feasible is None for step in steps):
        del lines[1]
    style: dict[Any, Any] = {"svg.hashsalt": "rltf", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(style):
        figure, panels = pyplot.subplots(len(lines), 1, figsize=(6.4, 2.1 * len(lines)), sharex=True, squeeze=False)
        for (panel,), (title, curves) in zip(panels, lines, strict=True):
            for name, values in curves.items():
                panel.plot([step.step for step in steps], values, label=name, marker=".", markersize=3, linewidth=1)
            panel.set_ylabel(title)
            if title == SHARE:
                panel.set_ylim(-0.05, 1.05)
            if len(curves) > 1:
                panel.legend(frameon=False)
        panels[-1][0].set_xlabel("optimizer step")
        figure.tight_layout()
        figure.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(figure)
