"""Decide by the chosen rule of feasibility whether a plan is run."""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.experts.duplicates import DEDUPE, apply_policy
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.plans import Plan, Signature
from lumos_queue.experts.released_feasibility import RELEASED, TYPES, find_released_refusal

RULES = {
    TYPES: "the types of inputs and outputs fit the task, and no expert is repeated",
    RELEASED: "as in OpenAGI's code",
}
UNFIT = "not feasible by types: "  #: beginning of a note on the plan, under another rule of feasibility
BENCHMARK, TASKS = "openagi", 185  #: the tasks that the released rule knows by their numbers


@dataclass(frozen=True, slots=True)
class Judgement:
    """A plan after the policy for repetitions, and what rules say about it. Each text is '' if there is no problem."""

    plan: Plan
    refusal: str = ""  #: why the plan is not feasible by the rule of the job
    misfit: str = ""  #: why it is not feasible by types, if the rule of the job is another one
    obstacle: str = ""  #: why a feasible plan cannot be run


def judge_plan(plan: Plan, signature: Signature, policy: str, rule: str, task: int | None, pairs: bool) -> Judgement:
    """Return the judgement on a plan by a rule (a key of RULES).

    `policy`: a key of DUPLICATES. `task`: the number of the task, for the released rule. `pairs`: as of
    `find_released_refusal`, which judges a list of names; with the policy `dedupe_first` each name counts once in it.
    """
    policed_plan, rejection = apply_policy(plan, policy)
    misfit = infeasible_because(policed_plan, signature)
    if rule == TYPES or rejection:
        return Judgement(policed_plan, rejection or misfit)
    assert task is not None, "the released rule needs the number of the task"
    names = tuple(dict.fromkeys(plan.names)) if policy == DEDUPE else plan.names
    if refusal := find_released_refusal(names, task, pairs):
        return Judgement(policed_plan, refusal, misfit)
    return Judgement(policed_plan, "", misfit, infeasible_because(policed_plan, signature, strict=False))


def number_of(benchmark: str, row: str) -> int | None:
    """Return the number of a task of OpenAGI, from 0, by the id of its row; None for tasks of other benchmarks."""
    if benchmark != BENCHMARK or not (row.isascii() and row.isdecimal()):
        return None
    return number if (number := int(row[:9])) < TASKS else None
