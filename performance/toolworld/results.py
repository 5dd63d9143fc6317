"""What the models of a sweep reached: verified pass with intervals, what it cost, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from db.connection import open_database
from db.filters import parse_where
from db.jobs import get_job
from db.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.toolworld.benchmark import SOLVABLE, UNSOLVABLE
from lumos_queue.records import Action, Completion
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.scoring.clusters import Clusters, bootstrap_interval, sign_flip_p
from lumos_queue.scoring.paired_tests import holm
from lumos_queue.scoring.statistics import compute_weighted_interval
from lumos_queue.settings import Settings
from lumos_queue.sweeps.plot import write_plot
from performance.toolworld.memory_run import count_repeated
from performance.toolworld.plan import ToolWorldSweep

DECIDING = ("policy", "router")
BySeed = Mapping[int, Sequence[StoredEpisode]]  #: each seed's episodes of the same tasks
Jobs = Mapping[tuple[str, str, int], str]  #: (cell, name in the table, seed) to the job of an evaluation


def print_results(plan: ToolWorldSweep, jobs: Mapping[str, str], folder: Path, picture: Path | None = None) -> None:
    """`jobs`: label to id, of what is done (sweep.py). `picture`: where the scores are drawn, as SVG."""
    found = {(one.cell, one.name, one.fit.seed): jobs[one.label] for one in plan.evaluations() if one.label in jobs}
    console = Console(width=150)
    if not found:
        console.print(f"No evaluation of this sweep is done in '{folder}'.")
        return
    names = list(dict.fromkeys(one.name for one in plan.evaluations()))
    scores: dict[str, dict[str, Any]] = {name: {} for name in names}
    database = open_database(Settings(home=folder / "home").database)
    try:
        shown = Table(
            "cell",
            "played",
            "verified pass [95 %]",
            "by seed",
            "refusals",
            "calls",
            "repeated",
            "tokens",
            "characters of the 1st, 2nd, … deciding prompt",
            title=plan.title,
        )
        pooled = Table(
            "cell",
            "from",
            "to",
            "difference of verified pass [95 %]",
            "tasks",
            "p, Holm",
            title="All seeds, on the same tasks: a task is a cluster",
        )
        for cell in plan.cells:
            shown.add_section()
            played: dict[str, BySeed] = {}
            for name in names:
                mine = {seed: found[cell, name, seed] for seed in plan.seeds if (cell, name, seed) in found}
                if mine:
                    played[name] = {
                        seed: list(stream_episodes(database, parse_where(f"job={job}"))) for seed, job in mine.items()
                    }
                    shown.add_row(cell, name, *summary_row(played[name]))
                    if score := score_of(played[name]):
                        scores[name][cell] = score
            for row in pool_rows(played):
                pooled.add_row(cell, *row)
        console.print(shown, pooled)
        with database.engine.connect() as connection:
            console.print(_differences(plan, connection, found, names))
    finally:
        database.close()
    if picture is not None:
        rows = [{"label": name, "scores": scores[name]} for name in names]
        benchmarks = {cell: {"rule": None} for cell in plan.cells}
        write_plot({"title": plan.title, "rows": rows, "benchmarks": benchmarks}, picture)


def score_of(episodes: BySeed) -> dict[str, Any] | None:
    """Verified pass over all seeds, and by seed; None where no episode was judged.

    The seeds' tries at a task are a cluster of the interval. An episode that was not judged is left out.
    """
    values = {
        seed: [(one.ordinal, one.scores[SOLVABLE], 1.0) for one in several if SOLVABLE in one.scores]
        for seed, several in episodes.items()
    }
    interval = compute_weighted_interval([one for several in values.values() for one in several])
    if interval is None:
        return None
    by_seed = {seed: mean(value for _, value, _ in several) for seed, several in values.items() if several}
    return {"value": interval[0], "ci95": list(interval[1:]), "by_seed": by_seed}


def pool_rows(played: Mapping[str, BySeed]) -> list[list[str]]:
    """For each name but the first: the difference to it over all seeds, on the tasks that both have judged."""
    if not played:
        return []
    (first, base), *others = played.items()
    found = []
    for name, episodes in others:
        a, b = _sums_by_task(base), _sums_by_task(episodes)
        if common := sorted(a.keys() & b.keys()):
            found.append((name, Clusters(np.array([(*a[task], *b[task]) for task in common]), np.ones(len(common)))))
    adjusted = holm([sign_flip_p(clusters)[0] for _, clusters in found])
    rows = []
    for (name, clusters), p in zip(found, adjusted, strict=True):
        low, high, _ = bootstrap_interval(clusters)
        told = f"{100 * clusters.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        rows.append([first, name, told, str(clusters.tasks), f"{p:.3f}"])
    return rows


def _sums_by_task(episodes: BySeed) -> dict[int, tuple[float, float]]:
    """(judged tries, their sum of verified pass) of each task."""
    found: dict[int, tuple[float, float]] = {}
    for one in (one for several in episodes.values() for one in several if SOLVABLE in one.scores):
        tries, passed = found.get(one.ordinal, (0.0, 0.0))
        found[one.ordinal] = tries + 1.0, passed + one.scores[SOLVABLE]
    return found


def summary_row(episodes: BySeed) -> list[str]:
    """The cells of a table's row, from each seed's episodes of the same tasks."""
    score = score_of(episodes)
    told = by_seed = "–"
    if score:
        told = "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * one for one in (score["value"], *score["ci95"])))
        by_seed = " ".join(f"{100 * one:.0f}" for one in score["by_seed"].values())
    every = [one for several in episodes.values() for one in several]
    refusals = [one.scores[UNSOLVABLE] for one in every if UNSOLVABLE in one.scores]
    return [
        told,
        by_seed,
        f"{100 * mean(refusals):.0f}" if refusals else "–",
        f"{mean(one.calls for one in every):.1f}",
        f"{mean(map(count_repeated_calls, every)):.2f}",
        f"{mean(one.prompt_tokens + one.completion_tokens for one in every):,.0f}",
        " ".join(f"{one:,.0f}" for one in prompt_lengths(every)[:6]),
    ]


def count_repeated_calls(episode: StoredEpisode) -> int:
    """How many calls the episode had made before."""
    return count_repeated(one.detail for one in episode.steps if isinstance(one.detail, Action))


def prompt_lengths(episodes: Sequence[StoredEpisode]) -> list[float]:
    """Mean characters of the first, second, … prompt for a decision, of the episodes that have so many."""
    lengths = [
        [len(one.prompt) for one in episode.steps if isinstance(one.result, Completion) and one.role in DECIDING]
        for episode in episodes
    ]
    most = max(map(len, lengths), default=0)
    return [mean(one[place] for one in lengths if len(one) > place) for place in range(most)]


def _differences(plan: ToolWorldSweep, connection: Connection, found: Jobs, names: list[str]) -> Table:
    """As `lumos compare` has them, of each seed: from the first that is played to each other one."""
    shown = Table(
        "cell", "seed", "from", "to", "difference of verified pass [95 %]", "p, Holm", title="On the same tasks"
    )
    for cell in plan.cells:
        for seed in plan.seeds:
            there = [name for name in names if (cell, name, seed) in found]
            if len(there) < 2:
                continue
            jobs = [get_job(connection, found[cell, name, seed]) for name in there]
            compared = compare_jobs(connection, jobs, Options(metric=SOLVABLE, common=True))["comparisons"]
            for name, one in zip(there[1:], compared, strict=True):
                shown.add_row(cell, str(seed), there[0], name, _told(one), f"{one['p_holm']:.3f}")
    return shown


def _told(one: Mapping[str, Any]) -> str:
    low, high = one["ci95"]
    return f"{100 * one['difference']:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}] of {one['pairs']}"
