"""What rules without a model score on a job's tasks: computed once for each version of the code, then read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from db.baselines import keep_baselines, load_baselines, tasks_of
from db.reading import keyed_tasks
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.scoring.statistics import weighted_interval
from lumos_queue.util.failures import tell_failure
from lumos_queue.util.version import code_version

log = logging.getLogger(__name__)


def kept_baselines(connection: Connection, job: Any, benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """The baselines on the tasks of a job (its row), as `baselines` gives them; no task is read where they are kept.

    Ends the connection's transaction where they have to be computed.
    """
    if job.dataset is None:
        return baselines(benchmark, list(keyed_tasks(connection, job.id).values()))
    try:
        plugin = BENCHMARKS.plugin(job.benchmark)
    except SpecError:  # of a plug-in that is not here
        return {}
    key = job.dataset, tasks_of(connection, job), f"{code_version()} {plugin or ''}".strip()
    found = load_baselines(connection, *key)
    if found is None:
        tasks = list(keyed_tasks(connection, job.id).values())
        connection.rollback()  # reads nothing meanwhile: PostgreSQL ends a transaction that is idle for too long
        found = baselines(benchmark, tasks)
        keep_baselines(connection, *key, found)
    return found


def baselines(benchmark: Benchmark, tasks: Sequence[Task]) -> dict[str, dict[str, Any]]:
    """The score of each baseline (a rule without a model) on these tasks, weighted like the agent's score.

    None of them where the benchmark fails on these tasks: what else is known of a job is told all the same.
    """
    try:
        judged = benchmark.baselines(tasks)
    except Exception as error:  # whatever a plug-in raises, or a built-in one on rows without gold answers
        told = tell_failure(error)
        log.warning("the baselines of '%s' cannot be computed on these tasks: %s", benchmark.name, told)
        return {}
    sets = [float(len(task.inputs.get("sets", "1"))) for task in tasks]
    found = {}
    for name, verdicts in judged.items():
        weights = (
            sets if len(verdicts) == len(tasks) else [1.0] * len(verdicts)
        )  # otherwise there is one verdict for each step
        triples = [
            (place, float(value), weight) for place, (value, weight) in enumerate(zip(verdicts, weights, strict=True))
        ]
        value, low, high = weighted_interval(triples) or (0.0, 0.0, 1.0)
        found[name] = {"value": round(value, 6), "ci95": [round(low, 6), round(high, 6)]}
    return found
