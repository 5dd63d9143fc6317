"""How often the intervals of `lumos compare` hold the true difference, by simulation with fixed seeds.

python -m performance.interval_coverage [SIMULATIONS]

Of 95 % intervals, 95 of 100 should. Printed are the share, its own 95 % interval, and the mean width.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from lumos_queue.scoring.clusters import Clusters, bootstrap_interval
from lumos_queue.scoring.paired_tests import tango_interval
from lumos_queue.scoring.statistics import wilson

TASKS = (10, 30, 100, 300)
RESAMPLES = 999  #: fewer than a comparison takes: the ends of the intervals are a little less exact
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]  #: scores of A and B, shape (tasks, samples)


def samples_of(samples: int, gain: float, certain: float) -> Draw:
    """0/1 scores: A solves a task with a chance of its own; B with that and `gain` on a third of the tasks.

    `certain`: the share of tasks that both always or never solve.
    """

    def draw(rng: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
        chance = rng.beta(0.5, 0.5, tasks)
        sure = rng.random(tasks) < certain
        chance = np.where(sure, np.rint(chance), chance)
        better = np.where(sure, chance, np.clip(chance + gain * (rng.random(tasks) < 1 / 3), 0, 1))
        size = (tasks, samples)
        return rng.random(size) < chance[:, None], rng.random(size) < better[:, None]

    return draw


def graded(same: float, spread: float) -> Draw:
    """Scores between 0 and 1: on a share of tasks the same, else B's is about 0.02 higher, with that spread."""

    def draw(rng: np.random.Generator, tasks: int) -> tuple[np.ndarray, np.ndarray]:
        first = rng.beta(0.8, 0.8, tasks)
        second = np.where(rng.random(tasks) < same, first, np.clip(first + rng.normal(0.02, spread, tasks), 0, 1))
        return first[:, None], second[:, None]

    return draw


CASES: dict[str, Draw] = {
    "0/1, one sample": samples_of(1, 0.3, 0.0),
    "0/1, one sample, few differ": samples_of(1, 0.5, 0.9),
    "0/1, 4 samples": samples_of(4, 0.3, 0.0),
    "0/1, 4 samples, few differ": samples_of(4, 0.5, 0.9),
    "graded, wide": graded(0.0, 0.3),
    "graded, narrow": graded(0.0, 0.05),
    "graded, most are the same": graded(0.8, 0.3),
}


def clusters_of(first: np.ndarray, second: np.ndarray) -> Clusters:
    """The pairs of (tasks, samples) scores by task, equal tasks counted."""
    weights = np.full(len(first), float(first.shape[1]))
    sums = np.stack([weights, first.sum(1), weights, second.sum(1)], 1)
    kinds, counts = np.unique(sums, axis=0, return_counts=True)
    return Clusters(kinds, counts)


def interval_of(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Return the interval that reports/pair_figures.py chooses."""
    if first.shape[1] == 1 and first.dtype == bool:
        gains, losses = int((second & ~first).sum()), int((first & ~second).sum())
        return tango_interval(gains, losses, len(first))
    return bootstrap_interval(clusters_of(first, second), max_resamples=RESAMPLES, least=1)[:2]


def measure(draw: Draw, tasks: int, simulations: int, seed: int = 18) -> tuple[float, float]:
    """(share of intervals that hold the true difference, mean width)."""
    rng = np.random.default_rng(seed)
    first, second = draw(rng, 2_000_000)
    truth, hits, width = float(second.mean() - first.mean()), 0, 0.0
    for _ in range(simulations):
        low, high = interval_of(*draw(rng, tasks))
        hits += low <= truth <= high
        width += high - low
    return hits / simulations, width / simulations


def main() -> int:
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    for name, draw in CASES.items():
        for tasks in TASKS:
            share, width = measure(draw, tasks, simulations)
            low, high = wilson(round(share * simulations), simulations)
            summary = f"{100 * share:5.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
            print(f"{name:28} {tasks:4} tasks  {summary}  width {width:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
