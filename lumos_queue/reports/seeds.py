"""Combine evaluations of one agent on the same rows, such as those of several seeds, into one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.results import values_by_metric
from db.queue.stored_jobs import StoredJob
from lumos_queue.scoring.statistics import compute_weighted_interval


@dataclass(frozen=True, slots=True)
class CombinedScore:
    """The mean score of all items of several jobs. An item without judgement counts as wrong.

    The interval is that of the mean over tasks: the items of a task, in all jobs, are a cluster.
    """

    value: float
    ci95: tuple[float, float]
    by_seed: Mapping[int, float]
    judged: int
    of: int
    complete: bool


def combine_jobs(connection: Connection, jobs: Sequence[tuple[int, StoredJob]]) -> CombinedScore | None:
    """Return the score of several jobs by their main metric; None without items. `jobs`: each with its seed."""
    values: list[tuple[object, float, float]] = []
    totals: dict[int, tuple[float, int]] = {}
    judged_items = items = 0
    for seed, job in jobs:
        judged = values_by_metric(connection, job.id).get(job.main_metric, [])
        values += [(task, value, 1.0) for task, value, _ in judged]
        values += [((job.id, number), 0.0, 1.0) for number in range(job.items - len(judged))]
        total, count = totals.get(seed, (0.0, 0))
        totals[seed] = total + sum(value for _, value, _ in judged), count + job.items
        judged_items, items = judged_items + len(judged), items + job.items
    if (interval := compute_weighted_interval(values)) is None:
        return None
    value, low, high = (round(bound, 6) for bound in interval)
    by_seed = {seed: round(total / count, 6) for seed, (total, count) in totals.items()}
    return CombinedScore(value, (low, high), by_seed, judged_items, items, judged_items == items)
