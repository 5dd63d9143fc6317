"""Count the runs of experts that a job's plans called: new runs, reused runs, and failures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from db.engine.connection import Connection
from db.journal.tool_calls import list_accepted_calls
from db.queries.plans import count_plan_steps
from db.queue.stored_jobs import StoredJob
from lumos_queue.experts.parsing import UNBALANCED
from lumos_queue.formulations.plan_reading import UNRESOLVED
from lumos_queue.formulations.registry import FORMULATIONS

EXPERT = "expert"  #: the tool that the calls of experts name


def expert_runs(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return `expert_runs` and `plan_steps` of a job whose formulation runs plans of experts; {} for other jobs.

    `runs` counts calls by provenance; `failed` counts calls without a result by status. `samples` counts the samples on
    which experts ran (`n`), and by kind of problem the samples for which infrastructure failed (`without_value`).
    """
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or not formulation.experts:
        return {}
    runs: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    samples = 0
    for execution in list_accepted_calls(connection, job.id, EXPERT):
        if not execution.ok:
            failures[execution.status] += 1
            continue
        runs[execution.provenance] += 1
        for value in execution.values:
            samples += len(value.get("items", ()))
            problems.update(str(problem).partition(":")[0] for problem in value.get("problems", {}).values())
    without_value = dict(sorted(problems.items()))
    steps = count_plan_steps(connection, job.id, UNRESOLVED, UNBALANCED)
    return {
        "expert_runs": {
            "runs": dict(sorted(runs.items())),
            "failed": dict(sorted(failures.items())),
            "samples": {"n": samples, "without_value": without_value},
        },
        "plan_steps": {"n": steps.n, "unresolved": steps.unresolved},
    }
