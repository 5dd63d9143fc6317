"""What rules without a model score on a job's tasks: computed once for each version of the code, then read.

A large job's are computed when it is submitted, from the rows as they were read. All others are computed for the first
report on these tasks. Either way the tasks are read one after another, and few of them are in memory at once.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from db.baselines import keep_baselines, load_baselines, tasks_of
from db.job_tasks import JobTasks
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import BENCHMARKS, definition_of
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.scoring.statistics import counted_interval
from lumos_queue.util.failures import tell_failure
from lumos_queue.util.version import code_version

log = logging.getLogger(__name__)

Baselines = dict[str, dict[str, Any]]


def kept_baselines(
    connection: Connection,
    job: Any,
    benchmark: Benchmark,
    read_tasks: Callable[[Connection, str], Sequence[Task]] = JobTasks,
) -> Baselines:
    """The baselines on the tasks of a job (its row), as `baselines` gives them; no task is read where they are kept.

    Ends the connection's transaction where they have to be computed. `read_tasks` gives the job's tasks. Raises
    SpecError when the job is removed meanwhile.
    """
    if job.dataset is None:
        return _compute(benchmark, read_tasks(connection, job.id))
    try:
        origin = _origin_of(job)
    except SpecError:  # of a plug-in that is not here
        return {}
    key = job.dataset, tasks_of(connection, job), f"{code_version()} {origin}".strip()
    rule_scores = load_baselines(connection, *key)
    if rule_scores is None:
        connection.rollback()  # reads nothing meanwhile: PostgreSQL ends a transaction that is idle for too long
        rule_scores = _compute(benchmark, read_tasks(connection, job.id))
        keep_baselines(connection, *key, rule_scores)
    return rule_scores


def _origin_of(job: Any) -> str:
    """Return what a benchmark's rules depend on beside this version's code: its plug-in, or a file's definition."""
    if definition := definition_of(job.spec):
        return digest(json.dumps(definition.as_json(), sort_keys=True))
    return str(BENCHMARKS.plugin(job.benchmark) or "")


def _compute(benchmark: Benchmark, tasks: Sequence[Task]) -> Baselines:
    """`baselines` of these tasks. Raises what made the tasks unreadable: it says nothing about the benchmark."""
    rule_scores = baselines(benchmark, tasks)
    if isinstance(tasks, JobTasks) and tasks.failure:
        raise tasks.failure
    return rule_scores


def baselines(benchmark: Benchmark, tasks: Sequence[Task]) -> Baselines:
    """The score of each baseline (a rule without a model) on these tasks, weighted like the agent's score.

    None of them where the benchmark fails on these tasks: what else is known of a job is told all the same.
    """
    try:
        weights = _weigh(tasks)
        rule_verdicts = benchmark.baselines(tasks)
        return {name: _measure(verdicts, len(tasks), weights) for name, verdicts in rule_verdicts.items()}
    except Exception as error:  # whatever a plug-in raises, or a built-in one on rows without gold answers
        message = tell_failure(error)
        log.warning("the baselines of '%s' cannot be computed on these tasks: %s", benchmark.name, message)
        return {}


def _weigh(tasks: Sequence[Task]) -> list[float] | None:
    """In how many sample sets each task is; None where no sets were drawn: each task counts once."""
    if not tasks or "sets" not in tasks[0].inputs:
        return None
    return [float(len(task.inputs.get("sets", "1"))) for task in tasks]


def _measure(verdicts: Sequence[float], tasks: int, weights: Sequence[float] | None) -> dict[str, Any]:
    """The value of a rule with its interval. Where there is no verdict for each task, there is one for each step."""
    if weights is None or len(verdicts) != tasks:
        counts = Counter((verdict, 1.0) for verdict in verdicts)
    else:
        counts = Counter(zip(verdicts, weights, strict=True))
    triples = [(float(value), weight, count) for (value, weight), count in counts.items()]
    value, low, high = counted_interval(triples) or (0.0, 0.0, 1.0)
    return {"value": round(value, 6), "ci95": [round(low, 6), round(high, 6)]}
