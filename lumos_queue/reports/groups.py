"""Scores by groups of tasks (such as category or difficulty), and overall scores of tasks with different metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.execution.prefill import source_row
from lumos_queue.records import Task
from lumos_queue.reports.score_values import GroupScores, MissingOverall, Overall, OverallMean, OverallScore, Range
from lumos_queue.reports.scores import Values, measure_metric, samples_of
from lumos_queue.scoring.statistics import compute_weighted_interval


def split_by_group(
    job: StoredJob, values: Mapping[str, Values], benchmark: Benchmark, tasks: Mapping[int, Task]
) -> dict[str, dict[str, GroupScores]]:
    """Return the scores by the name of each grouping of the benchmark and the name of the group."""
    return {
        name: _measure_groups(job, values, benchmark, tasks, group_of) for name, group_of in benchmark.groups.items()
    }


def _measure_groups(
    job: StoredJob,
    values: Mapping[str, Values],
    benchmark: Benchmark,
    tasks: Mapping[int, Task],
    group_of: Callable[[Task], str],
) -> dict[str, GroupScores]:
    members: dict[str, dict[int, Task]] = {}
    for key, task in tasks.items():
        members.setdefault(group_of(task), {})[key] = task
    names = sorted(members)
    figures = measure_groups(job, values, benchmark, [members[name] for name in names])
    return dict(zip(names, figures, strict=True))


def measure_groups(
    job: StoredJob, values: Mapping[str, Values], benchmark: Benchmark, groups: Sequence[Mapping[int, Task]]
) -> list[GroupScores]:
    """Return the scores of each group of tasks. Groups must not overlap."""
    group_of = {key: index for index, tasks in enumerate(groups) for key in tasks}
    inside: list[dict[str, list[tuple[int, float, int]]]] = [{metric: [] for metric in values} for _ in groups]
    for metric, metric_values in values.items():
        for value in metric_values:
            if (index := group_of.get(value[0])) is not None:
                inside[index][metric].append(value)
    return [
        _measure_group(job, group_values, benchmark, tasks) for group_values, tasks in zip(inside, groups, strict=True)
    ]


def _measure_group(
    job: StoredJob, values: Mapping[str, Values], benchmark: Benchmark, tasks: Mapping[int, Task]
) -> GroupScores:
    items = len(tasks) * samples_of(job)
    missing_items = items - max(map(len, values.values()), default=0)
    metrics = {
        name: measure_metric(job, metric_values, missing_items, tasks)
        for name, metric_values in values.items()
        if metric_values
    }
    return GroupScores(items, metrics, measure_overalls(job, values, benchmark, tasks) if benchmark.overalls else None)


def measure_overalls(
    job: StoredJob, values: Mapping[str, Values], benchmark: Benchmark, tasks: Mapping[int, Task]
) -> dict[str, Overall]:
    """Return the overall scores of the benchmark by name."""
    return {
        name: measure_overall(values, tasks, metric_of, samples_of(job))
        for name, metric_of in benchmark.overalls.items()
    }


def measure_overall(
    values: Mapping[str, Values], tasks: Mapping[int, Task], metric_of: Callable[[Task], str], samples: int
) -> Overall:
    """Return figures over tasks that are judged by different metrics.

    `over_metrics` is the unweighted mean of the metrics' means (as in OpenAGI's tables); its `n` counts metrics.
    `over_tasks` is the mean of all items, each by the metric of its task; its `n` counts items. An item that is not
    judged counts as 0, and `bounds` is the range of the figure for all scores of such items. If a metric has no judged
    item, return a MissingOverall with the names of such metrics.
    """
    pending: dict[str, dict[int, int]] = {}  # metric → task → items that are not judged
    for key, task in tasks.items():
        if metric := metric_of(task):
            pending.setdefault(metric, {})[key] = samples
    judged_rows: dict[str, list[tuple[int, float]]] = {metric: [] for metric in pending}
    for metric, rows in judged_rows.items():
        for key, value, _ in values.get(metric, ()):
            if pending[metric].get(key):
                pending[metric][key] -= 1
                rows.append((key, value))
    counts = {metric: len(rows) for metric, rows in judged_rows.items()}
    if unjudged_metrics := sorted(metric for metric, count in counts.items() if not count):
        return MissingOverall(unjudged_metrics)
    source = {key: source_row(task) for key, task in tasks.items()}
    ends = []
    for filler in (0.0, 1.0):
        whole = {
            metric: [
                *((source[key], value) for key, value in rows),
                *((source[key], filler) for key, count in pending[metric].items() for _ in range(count)),
            ]
            for metric, rows in judged_rows.items()
        }
        ends.append(whole)
    items = sum(map(len, ends[0].values()))
    over_metrics = [
        [(row, value, 1 / len(rows)) for rows in metric_rows.values() for row, value in rows] for metric_rows in ends
    ]
    over_tasks = [[(row, value, 1.0) for rows in metric_rows.values() for row, value in rows] for metric_rows in ends]
    return OverallScore(
        _measure(len(judged_rows), *over_metrics),
        _measure(items, *over_tasks),
        {metric: len(rows) for metric, rows in ends[0].items()},
    )


def _measure(
    n: int, worst: Sequence[tuple[Hashable, float, float]], best: Sequence[tuple[Hashable, float, float]]
) -> OverallMean:
    """Return the value with missing items as wrong; its interval also covers the interval with them as right."""
    low, high = compute_weighted_interval(worst) or (0.0, 0.0, 1.0), compute_weighted_interval(best) or (0.0, 0.0, 1.0)
    bounds: Range | None = (round(low[0], 6), round(high[0], 6)) if worst != best else None
    return OverallMean(n, round(low[0], 6), (round(low[1], 6), round(high[2], 6)), bounds)
