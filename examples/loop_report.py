"""What examples/loop.sh found: `python loop_report.py FILE`, whose lines are `SEED WHAT ARM JOB`.

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

from db.connection import Database
from db.filters import parse_where
from db.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.cli.run import database
from lumos_queue.conversion.perturbation import perturbation
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.records import Action
from lumos_queue.scoring.statistics import Z_95, wilson
from lumos_queue.settings import read_settings

#: The 97.5 % points of Student's distribution with 0, 1, 2 … degrees of freedom; the last for all that follow.
T_95 = (inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)

Scores = dict[str, float]  #: by row of the benchmark


def main(file: Path) -> None:
    lines = sorted(line.split() for line in file.read_text().splitlines())
    with database(read_settings()) as opened:
        tries = [(seed, what, list(stream(opened, job))) for seed, what, arm, job in lines if arm == "new"]
        tried = {one.task.question for _, _, episodes in tries for one in episodes}
        scores: dict[str, dict[str, dict[str, Scores]]] = defaultdict(lambda: defaultdict(dict))
        for seed, what, arm, job in lines:
            if arm != "new":
                scores[what][arm][seed] = {
                    one.task.row: one.scores["accuracy"]
                    for one in stream(opened, job)
                    if one.task.question not in tried
                }
    for what, arms in [*scores.items(), ("all of them", together(scores))]:
        compare(what, arms)
    print("\nThe tries of the round, and how many successes are spurious:")
    pooled: dict[str, list[StoredEpisode]] = defaultdict(list)
    for seed, what, episodes in tries:
        spurious(f"seed {seed}", what, episodes)
        pooled[what] += episodes
    for what, episodes in pooled.items():
        spurious("all seeds", what, episodes)


def stream(opened: Database, job: str) -> Iterable[StoredEpisode]:
    return stream_episodes(opened, parse_where(f"job={job}"))


def together(scores: dict[str, dict[str, dict[str, Scores]]]) -> dict[str, dict[str, Scores]]:
    """The tasks of all sets as one."""
    joined: dict[str, dict[str, Scores]] = defaultdict(lambda: defaultdict(dict))
    for what, arms in scores.items():
        for arm, seeds in arms.items():
            for seed, one in seeds.items():
                joined[arm][seed] |= {f"{what} {row}": value for row, value in one.items()}
    return joined


def compare(what: str, arms: dict[str, dict[str, Scores]]) -> None:
    """Accuracies by seed, and the mean paired difference with two intervals.

    Over tasks: each task's difference is its mean over the seeds; it holds for these fits. Over seeds: each seed's
    difference is its mean over the tasks; it holds for other fits, too. Better or worse is what both agree on.
    """
    rows = list(next(iter(arms["control"].values())))
    print(f"\n{what}, {len(rows)} tasks")
    for start in arms.get("starter", {}).values():
        print(f"  starter, as it is: {percent(start)}")
    by_seed: list[list[float]] = []
    for seed, control in arms["control"].items():
        second = arms["round-two"][seed]
        by_task = [second[row] - control[row] for row in rows]
        by_seed.append(by_task)
        better, worse = sum(one > 0 for one in by_task), sum(one < 0 for one in by_task)
        print(
            f"  seed {seed}: control {percent(control)}   round two {percent(second)}   "
            f"difference {100 * fmean(by_task):+.1f} points ({better} tasks better, {worse} worse)"
        )
    over_tasks = interval([fmean(task) for task in zip(*by_seed, strict=True)], Z_95)
    over_seeds = interval([fmean(seed) for seed in by_seed], T_95[min(len(by_seed), len(T_95)) - 1])
    low, high = min(over_tasks[0], over_seeds[0]), max(over_tasks[1], over_seeds[1])
    verdict = "better than" if low > 0 else "worse than" if high < 0 else "not shown to differ from"
    mean = fmean(map(fmean, by_seed))
    print(
        f"  mean difference {100 * mean:+.1f} points, 95 % over tasks {points(over_tasks)}, over seeds "
        f"{points(over_seeds)}: round two is {verdict} the control"
    )


def interval(values: list[float], quantile: float) -> tuple[float, float]:
    """The 95 % interval of the mean; everything from -1 to 1 for a single value."""
    if len(values) < 2:
        return -1.0, 1.0
    half = quantile * stdev(values) / sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def points(bounds: tuple[float, float]) -> str:
    return f"[{100 * bounds[0]:+.1f}, {100 * bounds[1]:+.1f}]"


def percent(scores: Scores) -> str:
    low, high = wilson(int(sum(scores.values())), len(scores))
    return f"{100 * fmean(scores.values()):.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def spurious(who: str, what: str, episodes: list[StoredEpisode]) -> None:
    """How many of the successes give a wrong answer when the question's numbers are others."""
    right = [one for one in episodes if one.scores["accuracy"] == 1]
    counts = asyncio.run(checked(right))
    told = counts["general"] + counts["spurious"]
    low, high = wilson(counts["spurious"], told)
    rate = f"{100 * counts['spurious'] / told:.1f} % [{100 * low:.1f}, {100 * high:.1f}]" if told else "none to judge"
    solved = len({one.task.row for one in right})
    tasks = len({one.task.row for one in episodes})
    print(
        f"  {who}: {what}: {len(right)} successes in {len(episodes)} tries, {solved} of {tasks} tasks solved; "
        f"spurious {counts['spurious']} of {told} ({rate}), {counts['unknown']} cannot be judged"
    )


async def checked(episodes: list[StoredEpisode]) -> dict[str, int]:
    """`general`: right with other numbers too; `spurious`: not; `unknown`: no other numbers made sense."""
    counts = {"general": 0, "spurious": 0, "unknown": 0}
    interface = DOMAINS.load("maths").open_stateless()
    try:
        for one in episodes:
            actions = [step.detail for step in one.steps if isinstance(step.detail, Action)]
            found = await perturbation(open_source(one.task.benchmark), one.task, actions, interface)
            counts["general" if found.passed else "spurious" if found.differs else "unknown"] += 1
    finally:
        await interface.close()
    return counts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
