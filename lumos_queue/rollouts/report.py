"""What the rollouts of a job say: which subgoals of their source episodes were right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from db.connection import Database
from db.derived_episodes import DerivedTry, named_episodes, tries_of
from db.jobs import get_job
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.builds.licences import RowFilter
from lumos_queue.builds.lines import Write
from lumos_queue.rollouts.derivation import is_right
from lumos_queue.rollouts.stepwise import RolloutCounts, stepwise_row


def report_rollouts(
    database: Database, job: str, threshold: float, write: Write, allow_test: bool = False
) -> dict[str, Any]:
    """Label the subgoals of every source episode; `write` gets a row for each whose labels are all known.

    `threshold` is the share of rollouts that must be right. Rows of test splits are refused and counted unless
    `allow_test`. Raises SpecError when the job's tasks are not derived.
    """
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        tries = tries_of(connection, row)
    by_episode = _count_rollouts(open_benchmark_of(row), tries)
    labels: Counter[str] = Counter()
    found, rows, row_filter = 0, 0, RowFilter(allow_test)
    for episode in named_episodes(database, by_episode):
        made = stepwise_row(episode, by_episode[episode.name], row.id, threshold)
        found += 1
        for label, by in zip(made["labels"], made["by"], strict=True):
            labels["not judged" if label is None else f"{'right' if label else 'wrong'} by {by}"] += 1
        if None not in made["labels"] and row_filter.admit(episode.split, episode.licence, row.benchmark):
            rows += 1
            write(made)
    counted = [one for places in by_episode.values() for one in places.values()]
    return {
        "job": row.id,
        "episodes": len(by_episode),
        "gone": len(by_episode) - found,
        "rows": rows,
        "subgoals": sum(labels.values()),
        "labels": dict(sorted(labels.items())),
        "threshold": threshold,
        **row_filter.report(),
        "rollouts": len(tries),
        "ended": sum(one.ended for one in counted),
        "right": sum(one.right for one in counted),
    }


def _count_rollouts(benchmark: Benchmark, tries: Iterable[DerivedTry]) -> dict[str, dict[int, RolloutCounts]]:
    """Source episode to the number of subgoals kept to the counts of the rollouts from there."""
    found: dict[str, dict[int, list[bool | None]]] = defaultdict(lambda: defaultdict(list))
    for one in tries:
        verdict = is_right(benchmark, one) if one.ended else None
        found[one.origin["episode"]][one.origin["subgoals"]].append(verdict)
    return {
        name: {
            number: RolloutCounts(len(all_), len(all_) - all_.count(None), all_.count(True))
            for number, all_ in places.items()
        }
        for name, places in found.items()
    }
