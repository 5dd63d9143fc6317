"""The scores of a job: the value of each metric over all items, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from db.engine.connection import Connection
from db.queries.results import values_by_metric
from db.queries.tasks import first_task, load_keyed_tasks
from db.queue.figures import ScoreCount, count_scores
from db.queue.stored_jobs import StoredJob
from lumos_queue.execution.prefill import source_row
from lumos_queue.records import Task
from lumos_queue.reports.score_values import JobScores, Metric, Range, SetScores
from lumos_queue.reports.sets import set_means
from lumos_queue.scoring.statistics import compute_counted_interval, compute_weighted_interval

#: (task, value from 0 to 1, number of trials of which the value is the mean) for each scored episode
Values = Sequence[tuple[int, float, int]]
_UNKNOWN = (0.0, 0.0, 1.0)  #: value and interval without any score


def job_scores(connection: Connection, job: StoredJob, metrics: Sequence[str]) -> JobScores:
    """Return `scores` of a job. Episodes and tasks are read only if items depend on each other."""
    if is_clustered(connection, job):
        return scores(job, values_by_metric(connection, job.id), metrics, load_keyed_tasks(connection, job.id))
    counts = count_scores(connection, job.id)
    missing_items = job.items - sum(count.episodes for count in counts.get(metrics[0], ()))
    figures = {name: measure_counts(counts[name], missing_items) for name in metrics if name in counts}
    main = [(count.value, count.trials, count.episodes) for count in counts.get(metrics[0], ())]
    return _summary(metrics, figures, figures.get(metrics[0]) or measure_counts([], missing_items), missing_items, main)


def is_clustered(connection: Connection, job: StoredJob) -> bool:
    """Return whether items of a job are not independent, or have different weights.

    This is so for samples of a task, tasks derived from the same row, and tasks in sample sets.
    """
    if samples_of(job) > 1:
        return True
    task = first_task(connection, job.id)
    return task is not None and not {"from", "sets"}.isdisjoint(task.inputs)


def samples_of(job: StoredJob) -> int:
    """Return the number of items of each task of a job."""
    return job.spec.get("infer", job.spec).get("samples", 1)


def scores(
    job: StoredJob, values: Mapping[str, Values], metrics: Sequence[str], tasks: Mapping[int, Task]
) -> JobScores:
    """Return the main metric, which is the first of `metrics`, and all metrics, with intervals.

    If items are not judged, for reasons other than the agent, the scores are incomplete: `value` counts such items as
    wrong, `bounds` has the values with all of them wrong and all of them right, and the interval covers both cases. A
    further metric does not apply to an episode that has a score of the main metric only. So each metric has its own
    number of trials, `of`.
    """
    main = values.get(metrics[0], [])
    missing_items = job.items - len(main)
    figures = {name: measure_metric(job, values[name], missing_items, tasks) for name in metrics if name in values}
    first = figures.get(metrics[0]) or measure_metric(job, [], missing_items, tasks)
    return _summary(metrics, figures, first, missing_items, [(value, trials, 1) for _, value, trials in main])


def _summary(
    metrics: Sequence[str],
    figures: Mapping[str, Metric],
    first: Metric,
    missing_items: int,
    main: Sequence[tuple[float, int, int]],
) -> JobScores:
    """Return the scores. `main` has (value, trials, episodes) of the main metric; `first` is its figure."""
    is_binary = all(value in (0, 1) and trials == 1 for value, trials, _ in main)
    return JobScores(
        metric=metrics[0],
        value=first.value,
        ci95=first.ci95,
        complete=not missing_items,
        correct=int(sum(value * episodes for value, _, episodes in main)) if is_binary else None,
        bounds=first.bounds,
        metrics=figures,
        judged=sum(episodes for _, _, episodes in main),
    )


def measure_metric(job: StoredJob, values: Values, missing_items: int, tasks: Mapping[int, Task]) -> Metric:
    """Return the figure of a metric over its items and over `missing_items`, which count as wrong (see `scores`)."""
    sets = {key: len(task.inputs["sets"]) for key, task in tasks.items() if "sets" in task.inputs}
    weighted_values = [(task, value, float(trials * sets.get(task, 1))) for task, value, trials in values]
    missing_weights = _weigh_missing(job, weighted_values, missing_items, tasks, sets)
    # The judged samples of a task are not independent. Rollouts, which have given replies, are not independent either,
    # but the figures of stored jobs must not change.
    source = {key: source_row(task) for key, task in tasks.items() if "given" not in task.inputs}
    clustered_values = [(source.get(task, task), value, weight) for task, value, weight in weighted_values]
    worst = compute_weighted_interval(
        [*clustered_values, *((source.get(task, task), 0.0, weight) for task, weight in missing_weights)]
    )
    best = compute_weighted_interval(
        [*clustered_values, *((source.get(task, task), 1.0, weight) for task, weight in missing_weights)]
    )
    trials = sum(trials for _, _, trials in values) + round(sum(weight for _, weight in missing_weights))
    set_scores = None
    if sets and not missing_items:
        means = set_means([(task, tasks[task].inputs["sets"], value) for task, value, _ in values])
        set_scores = SetScores(means.means, means.spread)  # the mean and its interval are `value` and `ci95`
    return _metric(worst or _UNKNOWN, best or _UNKNOWN, trials, missing_items, set_scores)


def measure_counts(counts: Sequence[ScoreCount], missing_items: int) -> Metric:
    """Return the same figure as `measure_metric` for independent items, from counts of equal scores."""
    judged_groups = [(count.value, float(count.trials), count.episodes) for count in counts]
    judged_episodes = sum(count.episodes for count in counts)
    trials = sum(count.trials * count.episodes for count in counts)
    heavy = trials / judged_episodes if judged_episodes else 1.0
    worst = compute_counted_interval([*judged_groups, (0.0, heavy, missing_items)]) or _UNKNOWN
    best = compute_counted_interval([*judged_groups, (1.0, heavy, missing_items)]) or _UNKNOWN
    return _metric(worst, best, trials + round(heavy * missing_items), missing_items)


def _metric(
    worst: tuple[float, float, float],
    best: tuple[float, float, float],
    trials: int,
    missing_items: int,
    sets: SetScores | None = None,
) -> Metric:
    """Return a metric from (value, low, high) with all missing items wrong, and with all of them right."""
    bounds: Range | None = (round(worst[0], 6), round(best[0], 6)) if missing_items else None
    return Metric(round(worst[0], 6), (round(worst[1], 6), round(best[2], 6)), trials, bounds, sets)


def _weigh_missing(
    job: StoredJob,
    weighted_values: Sequence[tuple[int, float, float]],
    missing_items: int,
    tasks: Mapping[int, Task],
    sets: Mapping[int, int],
) -> list[tuple[int, float]]:
    """Return (task, weight) of the unjudged samples; without sample sets, their weight is the judged samples' mean."""
    if not missing_items:
        return []
    samples = samples_of(job)
    heavy = fmean(weight for _, _, weight in weighted_values) if weighted_values else 1.0
    judged_samples: dict[int, int] = {}
    for task, *_ in weighted_values:
        judged_samples[task] = judged_samples.get(task, 0) + 1
    weights = [
        (task, float(sets.get(task, 1)) if sets else heavy)
        for task in tasks
        for _ in range(samples - judged_samples.get(task, 0))
    ]
    return weights[:missing_items]
