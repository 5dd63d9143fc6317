"""Giving the steps of a list to the branches of a plan, for tasks with several inputs.

Models that are prompted write one list of steps, although a task with two inputs has a branch for each. The rule, for
one step after the other:

1. The first expert that takes as many inputs as the task has is the join; what follows it is the tail.
2. A step before it goes to a branch whose type it takes. Of several such branches it is the one whose channel the step
   names ('Fill Mask on the question', or on the query), else the first that does not have this expert yet, else the
   first.
3. A step whose type no branch has goes to the first branch: the plan is not feasible then, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import Plan, Signature


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a list: the expert that it names, and its words."""

    name: str
    text: str = ""


def assign_branches(steps: Sequence[PlanStep], signature: Signature) -> Plan:
    """The plan with a branch for each input of the task; never raises."""
    wanted = len(signature.inputs)
    joins = (index for index, one in enumerate(steps) if len(EXPERTS[one.name].slots) == wanted)
    join = next(joins, len(steps))
    branches: list[list[str]] = [[] for _ in signature.inputs]
    kinds = [one.kind for one in signature.inputs]
    for step in steps[:join]:
        expert = EXPERTS[step.name]
        chosen = _choose(step, branches, [kind == expert.slots[0].kind for kind in kinds], signature)
        branches[chosen].append(step.name)
        kinds[chosen] = expert.output
    return Plan(tuple(map(tuple, branches)), tuple(one.name for one in steps[join:]))


def _choose(step: PlanStep, branches: Sequence[Sequence[str]], fits: Sequence[bool], signature: Signature) -> int:
    fitting = [index for index, one in enumerate(fits) if one]
    words = {"question" if word == "query" else word for word in re.findall(r"[a-z]+", step.text.lower())}
    named = [index for index in fitting if signature.inputs[index].name in words]
    fresh = [index for index in fitting if step.name not in branches[index]]
    return next(iter((named if len(named) == 1 else ()) or fresh or fitting), 0)
