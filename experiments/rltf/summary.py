"""The table of all arms: means over the held-out tasks with intervals, and differences paired by task and seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from db.engine.connection import open_database
from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.benchmarks.openagi.scores import proxy_of

DRAWS = 10_000


def read_values(folders: Mapping[int, Path], metric: str, jobs: str) -> dict[str, dict[int, dict[str, float]]]:
    """Arm → seed → task → score in an evaluation: 0 where nothing was scored, as of an infeasible plan.

    `metric`: 'proxies', or a metric's name; `jobs`: the file of each folder that names the evaluations, by arm. Tasks
    that nothing judges without weights (a picture from a text) are left out of `proxies`.
    """
    scores: dict[str, dict[int, dict[str, float]]] = {}
    for seed, folder in folders.items():
        if not (folder / jobs).is_file():
            raise SystemExit(f"{folder} has no {jobs}: its seed has not come so far. Go on with: run {folder}")
        database = open_database(f"sqlite:///{folder.resolve()}/home/lumos.db")
        for arm, job in json.loads((folder / jobs).read_text()).items():
            for episode in stream_episodes(database, parse_where(f"job={job}")):
                name = proxy_of(episode.task) if metric == "proxies" else metric
                if name:
                    scores.setdefault(arm, {}).setdefault(seed, {})[episode.task.row] = episode.scores.get(name, 0.0)
        database.close()
    return scores


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean and its 95 % interval by bootstrap over tasks; `values`: (tasks, seeds), whose seeds stay together."""
    draw = np.random.default_rng(0)
    means = values.mean(1)
    resamples = means[draw.integers(0, len(means), (DRAWS, len(means)))].mean(1)
    low, high = np.quantile(resamples, (0.025, 0.975))
    return float(means.mean()), float(low), float(high)


def print_table(folders: Mapping[int, Path], metric: str, main: str, jobs: str = "jobs.json") -> None:
    """Each arm with the mean of each seed, the mean over all, and what the arm `main` has more."""
    scores = read_values(folders, metric, jobs)
    seeds = sorted(folders)
    tasks = sorted({row for arm in scores.values() for values in arm.values() for row in values})
    print(f"\n{metric}: mean over {len(tasks)} held-out tasks and {len(seeds)} seeds [95 %, bootstrap over tasks]")
    print(f"right: what '{main}' has more")
    tables = {
        arm: np.array([[values[seed][row] for seed in seeds] for row in tasks])
        for arm, values in scores.items()
        if set(values) == set(seeds)
    }
    for arm, table in tables.items():
        mean, low, high = interval(table)
        seed_means = " ".join(f"{value:.3f}" for value in table.mean(0))
        line = f"  {arm:30} {mean:.3f} [{low:.3f}, {high:.3f}]   seeds {seed_means}"
        if main in tables and arm != main:
            mean, low, high = interval(tables[main] - table)
            line += f"   {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
        print(line)
