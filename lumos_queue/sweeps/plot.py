"""Draw the scores of a sweep: a panel for each benchmark, a line for each arm, all on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from lumos_queue.sweeps.report import BestRule
from lumos_queue.util.model_loading import import_libraries


class PlottedScore(Protocol):
    """A score with its interval, and the score of each seed, as shares."""

    @property
    def value(self) -> float: ...

    @property
    def ci95(self) -> tuple[float, float]: ...

    @property
    def by_seed(self) -> Mapping[int, float]: ...


def write_plot(
    title: str,
    rules: Mapping[str, BestRule | None],
    scores_by_arm: Mapping[str, Mapping[str, PlottedScore]],
    path: Path,
) -> None:
    """Draw the scores of each arm by benchmark, and the best rule of each benchmark, into an SVG file.

    It has means with their intervals, and the scores of seeds as small marks.
    """
    with import_libraries():
        import matplotlib

    matplotlib.use("svg")
    with import_libraries():
        from matplotlib import pyplot

    benchmarks = list(rules)
    style: dict[Any, Any] = {"svg.hashsalt": "sweep", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(style):
        size = (1.6 + 3.6 * len(benchmarks), 1.5 + 0.42 * len(scores_by_arm))
        figure, panels = pyplot.subplots(1, len(benchmarks), figsize=size, sharex=True, sharey=True, squeeze=False)
        for panel, name in zip(panels[0], benchmarks, strict=True):
            _draw(panel, [scores.get(name) for scores in scores_by_arm.values()])
            if rule := rules[name]:
                panel.axvline(100 * rule.score.value, color="0.6", linestyle=":")
            panel.set_title(name)
            panel.set_xlabel("% right, 95 % interval" + (f"\ndotted: {rule.name}" if rule else ""))
        panels[0][0].set_xlim(left=0)
        panels[0][0].set_yticks(range(len(scores_by_arm)), list(scores_by_arm))
        panels[0][0].invert_yaxis()
        figure.suptitle(title)
        figure.tight_layout()
        figure.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(figure)


def _draw(panel: Any, scores: Sequence[PlottedScore | None]) -> None:
    for position, score in enumerate(scores):
        if score is None:
            panel.annotate("not run", (0, position), color="0.5", va="center")
            continue
        value, (low, high) = score.value, score.ci95
        error = [[100 * max(0.0, value - low)], [100 * max(0.0, high - value)]]
        panel.errorbar(100 * value, position, xerr=error, fmt="o", color="C0", capsize=3)
        for seed in score.by_seed.values():
            panel.plot(100 * seed, position + 0.22, marker="|", color="C1", markersize=6)
