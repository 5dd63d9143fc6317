"""Ask a planner for a plan, which may be any text, or may be limited to plans that the task allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lumos_queue.commands import Ask, Commands
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import read_wire
from lumos_queue.records import Role

NOT_ALLOWED = "the reply is not a "  #: beginning of the problem of a reply that breaks the constraint
MAX_SHOWN = 200  #: characters of a reply that is not allowed


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """The last reply of a planner, and why it is not allowed."""

    text: str
    problem: str = ""  #: why the text is not allowed; '' if it is


def ask_plan(prompt: str, constraint: PlanConstraint | None, apart: bool, n: int) -> Commands[WrittenPlan]:
    """Ask for the plan with `n` candidates for each request. `constraint`: the allowed plans; None: any text.

    `apart`: search the plan's branch for each input of the task in a separate request, and fix this branch, so that it
    does not compete with candidates for the next input (OpenAGI's parallel hypotheses, arXiv:2304.04370). The last
    request searches for the rest of the plan. The prompt is the same each time.
    """
    if constraint is None:
        reply = yield from Ask(Role.PLANNER, prompt, n=n)
        return WrittenPlan(reply.text)
    branches = len(constraint.signature.inputs) if len(constraint.signature.inputs) > 1 else 0
    for _ in range(branches - 1 if apart else 0):
        part = replace(constraint, until_branch=True)
        reply = yield from Ask(Role.PLANNER, prompt, constraint=part, n=n)
        if not part.accepts(reply.text):
            return WrittenPlan(reply.text, _refuse(reply.text, "branch"))
        constraint = replace(constraint, branches=read_wire(reply.text).branches)
    reply = yield from Ask(Role.PLANNER, prompt, constraint=constraint, n=n)
    return WrittenPlan(reply.text, "" if constraint.accepts(reply.text) else _refuse(reply.text, "plan"))


def _refuse(text: str, kind: str) -> str:
    return f"{NOT_ALLOWED}{kind} that is allowed here: '{' '.join(text[:MAX_SHOWN].split())}'"
