"""Baselines: the scores of rules without a model on a job's tasks, computed once for each version of the code.

The baselines of a large evaluation are computed when it is submitted, from the rows that the submission has read. The
baselines of other jobs are computed for the first report on their tasks, from a stream of the stored tasks.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from db.engine.connection import Connection
from db.queue.baselines import keep_baselines, load_baselines, tasks_of
from db.queue.job_tasks import JobTasks
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import BENCHMARKS, definition_of
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.score_values import Mean
from lumos_queue.scoring.statistics import compute_counted_interval
from lumos_queue.util.failures import format_failure
from lumos_queue.util.version import code_version

log = logging.getLogger(__name__)


def find_best_rule(rules: Mapping[str, Mean]) -> str:
    """Return the name of the rule without a model that has the highest score. There must be a rule."""
    return max(rules, key=lambda rule: rules[rule].value)


Baselines = Mapping[str, Mean]  #: by the name of the rule


def load_or_compute_baselines(
    connection: Connection,
    job: StoredJob,
    benchmark: Benchmark,
    read_tasks: Callable[[Connection, str], Sequence[Task]] = JobTasks,
) -> Baselines:
    """Return the baselines on the tasks of a job from the database; compute and store them if missing.

    `read_tasks` returns the job's tasks; it is called only if the baselines are missing. Computing them ends the
    connection's transaction. Raises SpecError when the job is removed meanwhile.
    """
    if job.dataset is None:
        return _compute(benchmark, read_tasks(connection, job.id))
    try:
        origin = _origin_of(job)
    except SpecError:  # its plug-in is not installed
        return {}
    key = job.dataset, tasks_of(connection, job), f"{code_version()} {origin}".strip()
    if (stored_scores := load_baselines(connection, *key)) is not None:
        return {name: _read_score(score) for name, score in stored_scores.items()}
    connection.rollback()  # PostgreSQL ends a transaction that is idle for too long
    rule_scores = _compute(benchmark, read_tasks(connection, job.id))
    keep_baselines(connection, *key, as_json(rule_scores))
    return rule_scores


def _read_score(score: Mapping[str, Any]) -> Mean:
    low, high = score["ci95"]
    return Mean(score["value"], (low, high))


def _origin_of(job: StoredJob) -> str:
    """Return what determines a benchmark's rules besides the code: the plug-in, or the digest of a definition."""
    if definition := definition_of(job.spec):
        return digest(json.dumps(definition.as_json(), sort_keys=True))
    return str(BENCHMARKS.plugin(job.benchmark) or "")


def _compute(benchmark: Benchmark, tasks: Sequence[Task]) -> Baselines:
    """Return `compute_baselines` of the tasks, but raise the error if the tasks cannot be read."""
    rule_scores = compute_baselines(benchmark, tasks)
    if isinstance(tasks, JobTasks) and tasks.failure:
        raise tasks.failure
    return rule_scores


def compute_baselines(benchmark: Benchmark, tasks: Sequence[Task]) -> Baselines:
    """Return the score of each baseline (a rule without a model) on tasks, weighted like the agent's score.

    If the benchmark fails on the tasks, log a warning and return {}; the report then has no baselines.
    """
    try:
        weights = _weigh(tasks)
        rule_verdicts = benchmark.baselines(tasks)
        return {name: _measure(verdicts, len(tasks), weights) for name, verdicts in rule_verdicts.items()}
    except Exception as error:  # from a plug-in, or from a built-in benchmark on rows without gold answers
        message = format_failure(error)
        log.warning("the baselines of '%s' cannot be computed on these tasks: %s", benchmark.name, message)
        return {}


def _weigh(tasks: Sequence[Task]) -> list[float] | None:
    """Return the number of sample sets of each task; None without sample sets, where each task counts once."""
    if not tasks or "sets" not in tasks[0].inputs:
        return None
    return [float(len(task.inputs.get("sets", "1"))) for task in tasks]


def _measure(verdicts: Sequence[float], tasks: int, weights: Sequence[float] | None) -> Mean:
    """Return the value of a rule with its interval. `verdicts` has a number for each task, or for each step."""
    if weights is None or len(verdicts) != tasks:
        counts = Counter((verdict, 1.0) for verdict in verdicts)
    else:
        counts = Counter(zip(verdicts, weights, strict=True))
    triples = [(float(value), weight, count) for (value, weight), count in counts.items()]
    value, low, high = compute_counted_interval(triples) or (0.0, 0.0, 1.0)
    return Mean(round(value, 6), (round(low, 6), round(high, 6)))
