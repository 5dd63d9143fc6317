"""Report the results of examples/loop.sh: `python loop_report.py FILE`. A line of FILE is `SEED SET ARM JOB`.

ARM is `starter`, `control`, `round-two`, or `new` for the tries of the round. The question is whether round two is
better than the control, on tasks that no round has tried.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable
from math import inf, sqrt
from pathlib import Path
from statistics import fmean, stdev

from db.engine.connection import Database
from db.queries.filters import parse_where
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.conversion.perturbation import perturbation
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.records import Action
from lumos_queue.scoring.statistics import Z_95, wilson
from lumos_queue.settings import read_settings

#: The 97.5 % points of Student's distribution with 0, 1, 2 … degrees of freedom; the last for all that follow.
T_95 = (inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)

Scores = dict[str, float]  #: by row of the benchmark


def main(file: Path) -> None:
    lines = sorted(line.split() for line in file.read_text().splitlines())
    with Deployment(read_settings()) as deployment:
        jobs_database = deployment.database
        tries = [
            (seed, task_set, list(stream_job(jobs_database, job))) for seed, task_set, arm, job in lines if arm == "new"
        ]
        tried_questions = {episode.task.question for _, _, episodes in tries for episode in episodes}
        scores: dict[str, dict[str, dict[str, Scores]]] = defaultdict(lambda: defaultdict(dict))
        for seed, task_set, arm, job in lines:
            if arm != "new":
                scores[task_set][arm][seed] = {
                    episode.task.row: episode.scores["accuracy"]
                    for episode in stream_job(jobs_database, job)
                    if episode.task.question not in tried_questions
                }
    for task_set, arms in [*scores.items(), ("all of them", pool_sets(scores))]:
        print_comparison(task_set, arms)
    print("\nThe tries of the round, and how many successes are spurious:")
    episodes_by_set: dict[str, list[StoredEpisode]] = defaultdict(list)
    for seed, task_set, episodes in tries:
        print_spurious(f"seed {seed}", task_set, episodes)
        episodes_by_set[task_set] += episodes
    for task_set, episodes in episodes_by_set.items():
        print_spurious("all seeds", task_set, episodes)


def stream_job(jobs_database: Database, job: str) -> Iterable[StoredEpisode]:
    return stream_episodes(jobs_database, parse_where(f"job={job}"))


def pool_sets(scores: dict[str, dict[str, dict[str, Scores]]]) -> dict[str, dict[str, Scores]]:
    """Return the scores of the tasks of all sets as those of a single set."""
    pooled_scores: dict[str, dict[str, Scores]] = defaultdict(lambda: defaultdict(dict))
    for task_set, arms in scores.items():
        for arm, seeds in arms.items():
            for seed, seed_scores in seeds.items():
                pooled_scores[arm][seed] |= {f"{task_set} {row}": value for row, value in seed_scores.items()}
    return pooled_scores


def print_comparison(task_set: str, arms: dict[str, dict[str, Scores]]) -> None:
    """Print the accuracies by seed, and the mean paired difference with two intervals.

    Over tasks: each task's difference is its mean over the seeds; the interval holds for these fits.
    Over seeds: each seed's difference is its mean over the tasks; the interval holds for other fits, too. The verdict
    is "better" or "worse" only if both intervals agree.
    """
    rows = list(next(iter(arms["control"].values())))
    print(f"\n{task_set}, {len(rows)} tasks")
    for start in arms.get("starter", {}).values():
        print(f"  starter, as it is: {format_percent(start)}")
    by_seed: list[list[float]] = []
    for seed, control in arms["control"].items():
        second = arms["round-two"][seed]
        by_task = [second[row] - control[row] for row in rows]
        by_seed.append(by_task)
        better, worse = sum(gain > 0 for gain in by_task), sum(gain < 0 for gain in by_task)
        print(
            f"  seed {seed}: control {format_percent(control)}   round two {format_percent(second)}   "
            f"difference {100 * fmean(by_task):+.1f} points ({better} tasks better, {worse} worse)"
        )
    over_tasks = compute_interval([fmean(task) for task in zip(*by_seed, strict=True)], Z_95)
    over_seeds = compute_interval([fmean(seed) for seed in by_seed], T_95[min(len(by_seed), len(T_95)) - 1])
    low, high = min(over_tasks[0], over_seeds[0]), max(over_tasks[1], over_seeds[1])
    verdict = "better than" if low > 0 else "worse than" if high < 0 else "not shown to differ from"
    mean = fmean(map(fmean, by_seed))
    print(
        f"  mean difference {100 * mean:+.1f} points, 95 % over tasks {format_points(over_tasks)}, over seeds "
        f"{format_points(over_seeds)}: round two is {verdict} the control"
    )


def compute_interval(values: list[float], quantile: float) -> tuple[float, float]:
    """The 95 % interval of the mean; everything from -1 to 1 for a single value."""
    if len(values) < 2:
        return -1.0, 1.0
    half = quantile * stdev(values) / sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def format_points(bounds: tuple[float, float]) -> str:
    return f"[{100 * bounds[0]:+.1f}, {100 * bounds[1]:+.1f}]"


def format_percent(scores: Scores) -> str:
    low, high = wilson(int(sum(scores.values())), len(scores))
    return f"{100 * fmean(scores.values()):.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def print_spurious(seeds: str, task_set: str, episodes: list[StoredEpisode]) -> None:
    """Print how many of the successes give a wrong answer when the question has other numbers."""
    right = [episode for episode in episodes if episode.scores["accuracy"] == 1]
    counts = asyncio.run(count_perturbations(right))
    judged_successes = counts["general"] + counts["spurious"]
    low, high = wilson(counts["spurious"], judged_successes)
    rate = (
        f"{100 * counts['spurious'] / judged_successes:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        if judged_successes
        else "none to judge"
    )
    solved = len({episode.task.row for episode in right})
    tasks = len({episode.task.row for episode in episodes})
    print(
        f"  {seeds}: {task_set}: {len(right)} successes in {len(episodes)} tries, {solved} of {tasks} tasks solved; "
        f"spurious {counts['spurious']} of {judged_successes} ({rate}), {counts['unknown']} cannot be judged"
    )


async def count_perturbations(episodes: list[StoredEpisode]) -> dict[str, int]:
    """Count episodes: `general` are right with other numbers, too; `spurious` are not; `unknown` cannot be tested."""
    counts = {"general": 0, "spurious": 0, "unknown": 0}
    interface = DOMAINS.load("maths").open_stateless()
    try:
        for episode in episodes:
            actions = [step.detail for step in episode.steps if isinstance(step.detail, Action)]
            check = await perturbation(open_source(episode.task.benchmark), episode.task, actions, interface)
            counts["general" if check.passed else "spurious" if check.differs else "unknown"] += 1
    finally:
        await interface.close()
    return counts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
