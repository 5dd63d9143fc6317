"""What the models of a sweep reached: verified pass with intervals, what it cost, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from db.engine.connection import open_database
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queries.trajectories import StoredEpisode, stream_episodes
from experiments.toolworld.memory_run import count_repeated
from experiments.toolworld.plan import ToolWorldSweep
from lumos_queue.benchmarks.toolworld.benchmark import SOLVABLE, UNSOLVABLE
from lumos_queue.records import Action, Completion
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.comparison_values import PairFigures
from lumos_queue.scoring.clusters import Clusters, bootstrap_interval, sign_flip_p
from lumos_queue.scoring.paired_tests import holm
from lumos_queue.scoring.statistics import compute_weighted_interval
from lumos_queue.settings import Settings
from lumos_queue.sweeps.plot import write_plot
from lumos_queue.util.wording import format_difference

DECIDING = ("policy", "router")
BySeed = Mapping[int, Sequence[StoredEpisode]]  #: each seed's episodes of the same tasks
Jobs = Mapping[tuple[str, str, int], str]  #: (cell, name in the table, seed) to the job of an evaluation


def print_results(plan: ToolWorldSweep, jobs: Mapping[str, str], folder: Path, picture: Path | None = None) -> None:
    """Print the tables. `jobs`: ids of the completed jobs by label (sweep.py). `picture`: the file for an SVG plot."""
    job_ids = {
        (evaluation.cell, evaluation.name, evaluation.fit.seed): jobs[evaluation.label]
        for evaluation in plan.evaluations()
        if evaluation.label in jobs
    }
    console = Console(width=150)
    if not job_ids:
        console.print(f"No evaluation of this sweep is done in '{folder}'.")
        return
    names = list(dict.fromkeys(evaluation.name for evaluation in plan.evaluations()))
    scores: dict[str, dict[str, SeedsScore]] = {name: {} for name in names}
    database = open_database(Settings(home=folder / "home").database)
    try:
        summary_table = Table(
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
        pooled_table = Table(
            "cell",
            "from",
            "to",
            "difference of verified pass [95 %]",
            "tasks",
            "p, Holm",
            title="All seeds, on the same tasks: a task is a cluster",
        )
        for cell in plan.cells:
            summary_table.add_section()
            episodes_by_name: dict[str, BySeed] = {}
            for name in names:
                seed_jobs = {seed: job_ids[cell, name, seed] for seed in plan.seeds if (cell, name, seed) in job_ids}
                if seed_jobs:
                    episodes_by_name[name] = {
                        seed: list(stream_episodes(database, parse_where(f"job={job}")))
                        for seed, job in seed_jobs.items()
                    }
                    summary_table.add_row(cell, name, *summary_row(episodes_by_name[name]))
                    if score := score_of(episodes_by_name[name]):
                        scores[name][cell] = score
            for row in pool_rows(episodes_by_name):
                pooled_table.add_row(cell, *row)
        console.print(summary_table, pooled_table)
        with database.engine.connect() as connection:
            console.print(_differences(plan, connection, job_ids, names))
    finally:
        database.close()
    if picture is not None:
        write_plot(plan.title, dict.fromkeys(plan.cells), scores, picture)


@dataclass(frozen=True, slots=True)
class SeedsScore:
    """A score over all seeds with its interval, and the score of each seed, as shares."""

    value: float
    ci95: tuple[float, float]
    by_seed: Mapping[int, float]


def score_of(episodes: BySeed) -> SeedsScore | None:
    """Verified pass over all seeds, and by seed; None where no episode was judged.

    The seeds' tries at a task are a cluster of the interval. An episode that was not judged is left out.
    """
    values = {
        seed: [(episode.ordinal, episode.scores[SOLVABLE], 1.0) for episode in several if SOLVABLE in episode.scores]
        for seed, several in episodes.items()
    }
    interval = compute_weighted_interval([row for several in values.values() for row in several])
    if interval is None:
        return None
    by_seed = {seed: mean(value for _, value, _ in several) for seed, several in values.items() if several}
    return SeedsScore(interval[0], interval[1:], by_seed)


def pool_rows(episodes_by_name: Mapping[str, BySeed]) -> list[list[str]]:
    """For each name but the first: the difference to it over all seeds, on the tasks that both have judged."""
    if not episodes_by_name:
        return []
    (first, base), *other_episodes = episodes_by_name.items()
    comparisons = []
    for name, episodes in other_episodes:
        a, b = _sums_by_task(base), _sums_by_task(episodes)
        if common := sorted(a.keys() & b.keys()):
            comparisons.append(
                (name, Clusters(np.array([(*a[task], *b[task]) for task in common]), np.ones(len(common))))
            )
    adjusted_p = holm([sign_flip_p(clusters)[0] for _, clusters in comparisons])
    rows = []
    for (name, clusters), p in zip(comparisons, adjusted_p, strict=True):
        low, high, _ = bootstrap_interval(clusters)
        summary = f"{100 * clusters.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        rows.append([first, name, summary, str(clusters.tasks), f"{p:.3f}"])
    return rows


def _sums_by_task(episodes: BySeed) -> dict[int, tuple[float, float]]:
    """(judged tries, their sum of verified pass) of each task."""
    sums: dict[int, tuple[float, float]] = {}
    for episode in (episode for several in episodes.values() for episode in several if SOLVABLE in episode.scores):
        tries, pass_sum = sums.get(episode.ordinal, (0.0, 0.0))
        sums[episode.ordinal] = tries + 1.0, pass_sum + episode.scores[SOLVABLE]
    return sums


def summary_row(episodes: BySeed) -> list[str]:
    """The cells of a table's row, from each seed's episodes of the same tasks."""
    score = score_of(episodes)
    pass_text = by_seed = "–"
    if score:
        pass_text = "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * share for share in (score.value, *score.ci95)))
        by_seed = " ".join(f"{100 * share:.0f}" for share in score.by_seed.values())
    every = [episode for several in episodes.values() for episode in several]
    refusals = [episode.scores[UNSOLVABLE] for episode in every if UNSOLVABLE in episode.scores]
    return [
        pass_text,
        by_seed,
        f"{100 * mean(refusals):.0f}" if refusals else "–",
        f"{mean(episode.totals.calls for episode in every):.1f}",
        f"{mean(map(count_repeated_calls, every)):.2f}",
        f"{mean(episode.totals.tokens for episode in every):,.0f}",
        " ".join(f"{length:,.0f}" for length in prompt_lengths(every)[:6]),
    ]


def count_repeated_calls(episode: StoredEpisode) -> int:
    """How many calls the episode had made before."""
    return count_repeated(step.detail for step in episode.steps if isinstance(step.detail, Action))


def prompt_lengths(episodes: Sequence[StoredEpisode]) -> list[float]:
    """Mean characters of the first, second, … prompt for a decision, of the episodes that have so many."""
    lengths = [
        [len(step.prompt) for step in episode.steps if isinstance(step.result, Completion) and step.role in DECIDING]
        for episode in episodes
    ]
    max_count = max(map(len, lengths), default=0)
    return [
        mean(episode_lengths[position] for episode_lengths in lengths if len(episode_lengths) > position)
        for position in range(max_count)
    ]


def _differences(plan: ToolWorldSweep, connection: Connection, job_ids: Jobs, names: list[str]) -> Table:
    """Return the differences of each seed, as of `lumos compare`, between the first method and each other method."""
    table = Table(
        "cell", "seed", "from", "to", "difference of verified pass [95 %]", "p, Holm", title="On the same tasks"
    )
    for cell in plan.cells:
        for seed in plan.seeds:
            played_names = [name for name in names if (cell, name, seed) in job_ids]
            if len(played_names) < 2:
                continue
            jobs = [get_job(connection, job_ids[cell, name, seed]) for name in played_names]
            comparisons = compare_jobs(connection, jobs, Options(metric=SOLVABLE, common=True)).comparisons
            for name, comparison in zip(played_names[1:], comparisons, strict=True):
                table.add_row(
                    cell,
                    str(seed),
                    played_names[0],
                    name,
                    _format_difference(comparison.figures),
                    f"{comparison.p_holm:.3f}",
                )
    return table


def _format_difference(figures: PairFigures) -> str:
    return f"{format_difference(figures.difference, figures.ci95)} of {figures.pairs}"
