"""The figures of two jobs' pairs: difference, interval, p-value, who was right where."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from db.pairs import Kind, Pairs
from db.reading import first_task, keyed_tasks
from lumos_queue.execution.prefill import source_row
from lumos_queue.records import Task
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.clusters import Clusters, bootstrap_interval, sign_flip_p, tasks_needed
from lumos_queue.scoring.paired_tests import PairedCounts, mcnemar_p, tango_interval, tasks_for_power
from lumos_queue.scoring.statistics import counted_interval

PairRow = tuple[int, float, int, float, int]  #: a pair as `Pairs.each` gives it


def measure_pairs(connection: Connection, job_a: Any, job_b: Any, pairs: Pairs) -> dict[str, Any] | None:
    """The figures of B against A (their rows); None where no task was judged in both.

    Samples of a task, tasks derived from one row and tasks of several sample sets make clusters, as in reports/scores.
    """
    single = pairs.kinds()
    if not single:
        return None
    clustered = _is_clustered(connection, job_a, job_b)
    if _has_sources(connection, job_a):
        kinds = _sum_sources(keyed_tasks(connection, job_a.id), pairs.each())
    else:
        kinds = pairs.task_kinds() if clustered else single
    return _measure_kinds(single, kinds, clustered)


def measure_group_pairs(
    connection: Connection, job_a: Any, job_b: Any, pairs: Pairs, groups: Sequence[Mapping[int, Task]]
) -> list[dict[str, Any] | None]:
    """The figures of B against A in each group of A's tasks, as `measure_pairs` has them of all tasks."""
    group_of = {key: index for index, tasks in enumerate(groups) for key in tasks}
    rows: list[list[PairRow]] = [[] for _ in groups]
    for row in pairs.each():
        if (index := group_of.get(row[0])) is not None:
            rows[index].append(row)
    clustered, has_sources = _is_clustered(connection, job_a, job_b), _has_sources(connection, job_a)
    found: list[dict[str, Any] | None] = []
    for own, tasks in zip(rows, groups, strict=True):
        single = _count_rows(own)
        kinds = _sum_sources(tasks, own, by_row=has_sources) if clustered else single
        found.append(_measure_kinds(single, kinds, clustered) if single else None)
    return found


def _is_clustered(connection: Connection, job_a: Any, job_b: Any) -> bool:
    return samples_of(job_a) > 1 or samples_of(job_b) > 1 or _has_sources(connection, job_a)


def _has_sources(connection: Connection, job: Any) -> bool:
    """Whether tasks of the job are derived from rows, or are in several sample sets."""
    task = first_task(connection, job.id)
    return task is not None and not {"from", "sets"}.isdisjoint(task.inputs)


def _measure_kinds(single: Sequence[Kind], kinds: Sequence[Kind], clustered: bool) -> dict[str, Any]:
    """`single`: the pairs by their scores; `kinds`: what is independent, which is the same unless `clustered`."""
    found = _count_pairs(single)
    clusters = _clusters(kinds)
    found |= {
        "tasks": clusters.tasks,
        "better": sum(one.tasks for one in kinds if _of(one) > 0),
        "worse": sum(one.tasks for one in kinds if _of(one) < 0),
        "clustered": clustered,
        "value_a": _measure([(one.sum_a, one.weight_a, one.tasks) for one in kinds]),
        "value_b": _measure([(one.sum_b, one.weight_b, one.tasks) for one in kinds]),
        "difference": round(clusters.difference, 6),
    }
    found["equal"] = found["tasks"] - found["better"] - found["worse"]
    if found["binary"] and not clustered:
        counts = PairedCounts(found["both"], found["fixed"], found["broken"], found["neither"])
        low, high = tango_interval(counts.fixed, counts.broken, counts.n)
        n = counts.n
        found |= {"p": mcnemar_p(counts.fixed, counts.broken), "test": "McNemar, exact", "interval": "Tango's score"}
        found["tasks_for_power"] = tasks_for_power(counts.fixed / n, counts.broken / n)
    else:
        low, high, method = bootstrap_interval(clusters)
        p, how = sign_flip_p(clusters)
        found |= {"p": p, "test": f"sign flips by task, {how}", "interval": f"{method}, by task"}
        found["standard_error"] = round(clusters.standard_error, 6)
        found["tasks_for_power"] = tasks_needed(clusters)
    return found | {"ci95": [round(low, 6), round(high, 6)]}


def _of(kind: Kind) -> float:
    """Mean score of B minus that of A on such a task; rounded, as sums of equal scores may differ in the last digit."""
    return round(kind.sum_b / kind.weight_b - kind.sum_a / kind.weight_a, 12)


def _count_pairs(single: Sequence[Kind]) -> dict[str, Any]:
    """How many pairs; of right and wrong ones who was right, else whose score was higher."""
    found: dict[str, Any] = {"pairs": sum(one.tasks for one in single)}
    scores = {(one.weight_a, one.sum_a) for one in single} | {(one.weight_b, one.sum_b) for one in single}
    found["binary"] = scores <= {(1.0, 0.0), (1.0, 1.0)}
    found["fixed"] = sum(one.tasks for one in single if _of(one) > 0)
    found["broken"] = sum(one.tasks for one in single if _of(one) < 0)
    if found["binary"]:
        found["both"] = sum(one.tasks for one in single if one.sum_a == one.sum_b == 1)
        found["neither"] = sum(one.tasks for one in single if one.sum_a == one.sum_b == 0)
    return found


def _clusters(kinds: Sequence[Kind]) -> Clusters:
    sums = [(one.weight_a, one.sum_a, one.weight_b, one.sum_b) for one in kinds]
    return Clusters(sums, [one.tasks for one in kinds])  # type: ignore[arg-type]


def _measure(groups: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    """Mean score with its interval, from (sum, weight, tasks): a task is one observation with its samples' weight."""
    measured = counted_interval([(min(1.0, total / weight), weight, tasks) for total, weight, tasks in groups])
    value, low, high = measured or (0.0, 0.0, 1.0)
    return {"value": round(value, 6), "ci95": [round(low, 6), round(high, 6)]}


def _count_rows(rows: Sequence[PairRow]) -> list[Kind]:
    """The pairs counted by their scores, as `Pairs.kinds` counts them."""
    counts = Counter((of_a, value_a, of_b, value_b) for _, value_a, of_a, value_b, of_b in rows)
    return [
        Kind(of_a, of_a * value_a, of_b, of_b * value_b, 1, count)
        for (of_a, value_a, of_b, value_b), count in sorted(counts.items())
    ]


def _sum_sources(tasks: Mapping[int, Task], rows: Sequence[PairRow], by_row: bool = True) -> list[Kind]:
    """A kind for each row that tasks were derived from, each task weighing as many sample sets as it is in.

    `by_row`: False where each task is its own source.
    """
    sums: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0, 0])
    for key, value_a, of_a, value_b, of_b in rows:
        inputs = tasks[key].inputs
        sets = len(inputs["sets"]) if "sets" in inputs else 1
        cluster = sums[key if "given" in inputs or not by_row else source_row(tasks[key])]
        terms = (of_a * sets, of_a * sets * value_a, of_b * sets, of_b * sets * value_b, 1)
        for place, term in enumerate(terms):
            cluster[place] += term
    return [Kind(one[0], one[1], one[2], one[3], int(one[4]), 1) for one in sums.values()]
