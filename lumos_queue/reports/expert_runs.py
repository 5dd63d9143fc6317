"""Count the runs of experts that a job's plans called: new runs, reused runs, and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from db.engine.connection import Connection
from db.journal.tool_calls import list_accepted_calls
from db.queries.plans import count_plan_steps
from db.queue.stored_jobs import StoredJob
from lumos_queue.experts.parsing import UNBALANCED
from lumos_queue.formulations.plan_reading import UNRESOLVED

EXPERT = "expert"  #: the tool that the calls of experts name


@dataclass(frozen=True, slots=True)
class ExpertSamples:
    """The samples on which experts ran."""

    n: int
    without_value: Mapping[str, int]  #: those for which infrastructure failed, by kind of problem


@dataclass(frozen=True, slots=True)
class ExpertRuns:
    """The calls of experts."""

    runs: Mapping[str, int]  #: by provenance
    failed: Mapping[str, int]  #: calls without a result, by status
    samples: ExpertSamples


@dataclass(frozen=True, slots=True)
class PlanSteps:
    """The steps of plans."""

    n: int
    unresolved: int  #: those that name no expert


def count_expert_calls(connection: Connection, job: StoredJob) -> ExpertRuns:
    """Return the calls of experts of a job whose formulation runs plans of experts."""
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
    expert_samples = ExpertSamples(samples, dict(sorted(problems.items())))
    return ExpertRuns(dict(sorted(runs.items())), dict(sorted(failures.items())), expert_samples)


def count_steps(connection: Connection, job: StoredJob) -> PlanSteps:
    """Return the steps of the plans of a job whose formulation runs plans of experts."""
    steps = count_plan_steps(connection, job.id, UNRESOLVED, UNBALANCED)
    return PlanSteps(steps.n, steps.unresolved)
