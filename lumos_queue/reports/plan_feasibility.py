"""Count a job's feasible plans by both rules, whichever of them decided what was run: by types, and as released."""

from __future__ import annotations

from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.plans import list_ended_plans
from db.queue.stored_jobs import StoredJob
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.duplicates import DEDUPE, REJECTED
from lumos_queue.experts.released_feasibility import RELEASED, TYPES, find_released_refusal
from lumos_queue.formulations.plan_request import NOT_ALLOWED
from lumos_queue.formulations.plan_rules import UNFIT, number_of
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.model_synthesis import FINE_TUNING
from lumos_queue.records import Ending


@dataclass(frozen=True, slots=True)
class PlanFeasibility:
    """The numbers of plans that are feasible by each rule."""

    rule: str  #: the job's own
    types: int
    released: int
    n: int  #: episodes that ended, without those that infrastructure ended


def plan_feasibility(connection: Connection, job: StoredJob) -> PlanFeasibility | None:
    """Return the feasible plans of a job that runs plans on tasks of OpenAGI; None for other jobs."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or "feasibility" not in formulation.settings:
        return None
    stored_settings = job.spec.get("infer", job.spec)["agent"].get("settings", {})
    settings = {name: stored_settings.get(name, setting.default) for name, setting in formulation.settings.items()}
    rule, counts = settings["feasibility"], {TYPES: 0, RELEASED: 0}
    n = 0
    for plan in list_ended_plans(connection, job.id):
        if (number := number_of(job.benchmark, plan.row)) is None:
            return None
        n += 1
        notes = [text.partition(": ")[2] for text in plan.subgoals]  # without their labels
        names = [note for note in notes if note in EXPERTS]
        if not names or plan.message.endswith(REJECTED) or plan.message.startswith(NOT_ALLOWED):
            continue
        if rule == TYPES:
            counts[TYPES] += plan.ending != Ending.INFEASIBLE
        else:
            counts[TYPES] += not any(note.startswith(UNFIT) for note in notes)
        if settings["duplicates"] == DEDUPE:
            names = list(dict.fromkeys(names))
        counts[RELEASED] += not find_released_refusal(names, number, settings["schema"] != FINE_TUNING)
    return PlanFeasibility(rule, counts[TYPES], counts[RELEASED], n)
