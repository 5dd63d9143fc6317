"""The figures of the pairs of two jobs: difference, interval, p-value, and counts of right answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.pairs import Kind, Pairs
from db.queries.tasks import first_task, load_keyed_tasks
from db.queue.stored_jobs import StoredJob
from lumos_queue.execution.prefill import source_row
from lumos_queue.records import Task
from lumos_queue.reports.comparison_values import PairFigures
from lumos_queue.reports.score_values import Mean
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.clusters import Clusters, bootstrap_interval, sign_flip_p, tasks_needed
from lumos_queue.scoring.paired_tests import PairedCounts, mcnemar_p, tango_interval, tasks_for_power
from lumos_queue.scoring.statistics import compute_counted_interval

PairRow = tuple[int, float, int, float, int]  #: a pair from `Pairs.each`


def measure_pairs(connection: Connection, job_a: StoredJob, job_b: StoredJob, pairs: Pairs) -> PairFigures | None:
    """Return the figures that compare job B with job A; None if no task was judged in both.

    Samples of a task, tasks derived from the same row, and tasks in several sample sets are clusters, as in the report
    of a job (scores.py).
    """
    single = pairs.kinds()
    if not single:
        return None
    is_clustered = _is_clustered(connection, job_a, job_b)
    if _has_sources(connection, job_a):
        kinds = _sum_sources(load_keyed_tasks(connection, job_a.id), pairs.each())
    else:
        kinds = pairs.task_kinds() if is_clustered else single
    return _measure_kinds(single, kinds, is_clustered)


def measure_group_pairs(
    connection: Connection, job_a: StoredJob, job_b: StoredJob, pairs: Pairs, groups: Sequence[Mapping[int, Task]]
) -> list[PairFigures | None]:
    """Return the figures of `measure_pairs` for each group of A's tasks; None for a group without judged pairs."""
    group_of = {key: index for index, tasks in enumerate(groups) for key in tasks}
    rows: list[list[PairRow]] = [[] for _ in groups]
    for row in pairs.each():
        if (index := group_of.get(row[0])) is not None:
            rows[index].append(row)
    is_clustered, has_sources = _is_clustered(connection, job_a, job_b), _has_sources(connection, job_a)
    figures: list[PairFigures | None] = []
    for group_rows, tasks in zip(rows, groups, strict=True):
        single = _count_rows(group_rows)
        kinds = _sum_sources(tasks, group_rows, by_row=has_sources) if is_clustered else single
        figures.append(_measure_kinds(single, kinds, is_clustered) if single else None)
    return figures


def _is_clustered(connection: Connection, job_a: StoredJob, job_b: StoredJob) -> bool:
    return samples_of(job_a) > 1 or samples_of(job_b) > 1 or _has_sources(connection, job_a)


def _has_sources(connection: Connection, job: StoredJob) -> bool:
    """Return whether tasks of the job are derived from rows, or are in sample sets."""
    task = first_task(connection, job.id)
    return task is not None and not {"from", "sets"}.isdisjoint(task.inputs)


def _measure_kinds(single: Sequence[Kind], kinds: Sequence[Kind], is_clustered: bool) -> PairFigures:
    """Return the figures of pairs.

    `single` are the pairs, counted by scores; `kinds` are independent clusters, or equal to `single` without clusters.
    """
    counts, clusters, standard_error = _count_pairs(single), _clusters(kinds), None
    table = counts.table
    if table and not is_clustered:
        low, high = tango_interval(table.fixed, table.broken, table.n)
        interval, test, p = "Tango's score", "McNemar, exact", mcnemar_p(table.fixed, table.broken)
        needed = tasks_for_power(table.fixed / table.n, table.broken / table.n)
    else:
        low, high, method = bootstrap_interval(clusters)
        p, how = sign_flip_p(clusters)
        interval, test = f"{method}, by task", f"sign flips by task, {how}"
        standard_error, needed = round(clusters.standard_error, 6), tasks_needed(clusters)
    better = sum(kind.tasks for kind in kinds if _mean_difference(kind) > 0)
    worse = sum(kind.tasks for kind in kinds if _mean_difference(kind) < 0)
    return PairFigures(
        pairs=counts.pairs,
        binary=table is not None,
        fixed=counts.fixed,
        broken=counts.broken,
        both=table.both if table else None,
        neither=table.neither if table else None,
        tasks=clusters.tasks,
        better=better,
        worse=worse,
        clustered=is_clustered,
        value_a=_measure([(kind.sum_a, kind.weight_a, kind.tasks) for kind in kinds]),
        value_b=_measure([(kind.sum_b, kind.weight_b, kind.tasks) for kind in kinds]),
        difference=round(clusters.difference, 6),
        equal=clusters.tasks - better - worse,
        p=p,
        test=test,
        interval=interval,
        standard_error=standard_error,
        tasks_for_power=needed,
        ci95=(round(low, 6), round(high, 6)),
    )


def _mean_difference(kind: Kind) -> float:
    """Return the mean score of B minus that of A on a task of this kind.

    It is rounded, because sums of equal scores may differ in the last digit.
    """
    return round(kind.sum_b / kind.weight_b - kind.sum_a / kind.weight_a, 12)


@dataclass(frozen=True, slots=True)
class _Counts:
    """The numbers of pairs; `table` has those of right and wrong answers, or is None unless all scores are 0 or 1."""

    pairs: int
    fixed: int
    broken: int
    table: PairedCounts | None


def _count_pairs(single: Sequence[Kind]) -> _Counts:
    """Count the pairs by right and wrong; if scores are not 0 or 1, by which score is higher."""
    fixed = sum(kind.tasks for kind in single if _mean_difference(kind) > 0)
    broken = sum(kind.tasks for kind in single if _mean_difference(kind) < 0)
    scores = {(kind.weight_a, kind.sum_a) for kind in single} | {(kind.weight_b, kind.sum_b) for kind in single}
    table = None
    if scores <= {(1.0, 0.0), (1.0, 1.0)}:
        both = sum(kind.tasks for kind in single if kind.sum_a == kind.sum_b == 1)
        neither = sum(kind.tasks for kind in single if kind.sum_a == kind.sum_b == 0)
        table = PairedCounts(both, fixed, broken, neither)
    return _Counts(sum(kind.tasks for kind in single), fixed, broken, table)


def _clusters(kinds: Sequence[Kind]) -> Clusters:
    sums = [(kind.weight_a, kind.sum_a, kind.weight_b, kind.sum_b) for kind in kinds]
    return Clusters(sums, [kind.tasks for kind in kinds])  # type: ignore[arg-type]


def _measure(groups: Sequence[tuple[float, float, int]]) -> Mean:
    """Return the mean score with its interval, from (sum, weight, tasks).

    A task is one observation with the weight of its samples.
    """
    interval = compute_counted_interval([(min(1.0, total / weight), weight, tasks) for total, weight, tasks in groups])
    value, low, high = interval or (0.0, 0.0, 1.0)
    return Mean(round(value, 6), (round(low, 6), round(high, 6)))


def _count_rows(rows: Sequence[PairRow]) -> list[Kind]:
    """Count the pairs by their scores, like `Pairs.kinds`."""
    counts = Counter((of_a, value_a, of_b, value_b) for _, value_a, of_a, value_b, of_b in rows)
    return [
        Kind(of_a, of_a * value_a, of_b, of_b * value_b, 1, count)
        for (of_a, value_a, of_b, value_b), count in sorted(counts.items())
    ]


def _sum_sources(tasks: Mapping[int, Task], rows: Sequence[PairRow], by_row: bool = True) -> list[Kind]:
    """Return a kind for each row that tasks were derived from; a task's weight is the number of its sample sets.

    With `by_row` False, each task is its own source.
    """
    sums: dict[int | str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, 0])
    for key, value_a, of_a, value_b, of_b in rows:
        inputs = tasks[key].inputs
        sets = len(inputs["sets"]) if "sets" in inputs else 1
        cluster = sums[key if "given" in inputs or not by_row else source_row(tasks[key])]
        terms = (of_a * sets, of_a * sets * value_a, of_b * sets, of_b * sets * value_b, 1)
        for index, term in enumerate(terms):
            cluster[index] += term
    return [
        Kind(cluster_sums[0], cluster_sums[1], cluster_sums[2], cluster_sums[3], int(cluster_sums[4]), 1)
        for cluster_sums in sums.values()
    ]
