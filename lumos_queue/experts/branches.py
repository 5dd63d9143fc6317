"""Assigns the steps of a list to the branches of a plan, for tasks with several inputs.

Prompted models write one list of steps, although a task with two inputs has a branch for each input. These rules apply
to the steps in order:

1. The first expert that takes as many inputs as the task has is the join. The join and all later steps are the tail.
2. A step before the join goes to a branch whose type it takes. If there are several such branches, it goes to the
   branch whose channel the step names ('Fill Mask on the question', or on the query), else to the first branch without
   this expert, else to the first.
3. A step whose type no branch has goes to the first branch. The plan is not feasible then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import Plan, Signature


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a model's list: the name of its expert, and its text."""

    name: str
    text: str = ""


def assign_branches(steps: Sequence[PlanStep], signature: Signature) -> Plan:
    """Return the plan of these steps, with a branch for each input of the task. Never raises."""
    input_count = len(signature.inputs)
    joins = (index for index, step in enumerate(steps) if len(EXPERTS[step.name].slots) == input_count)
    join = next(joins, len(steps))
    branches: list[list[str]] = [[] for _ in signature.inputs]
    kinds = [slot.kind for slot in signature.inputs]
    for step in steps[:join]:
        expert = EXPERTS[step.name]
        branch_index = _choose(step, branches, [kind == expert.slots[0].kind for kind in kinds], signature)
        branches[branch_index].append(step.name)
        kinds[branch_index] = expert.output
    return Plan(tuple(map(tuple, branches)), tuple(step.name for step in steps[join:]))


def _choose(step: PlanStep, branches: Sequence[Sequence[str]], fits: Sequence[bool], signature: Signature) -> int:
    candidates = [index for index, is_match in enumerate(fits) if is_match]
    words = {"question" if word == "query" else word for word in re.findall(r"[a-z]+", step.text.lower())}
    named_branches = [index for index in candidates if signature.inputs[index].name in words]
    fresh = [index for index in candidates if step.name not in branches[index]]
    return next(iter((named_branches if len(named_branches) == 1 else ()) or fresh or candidates), 0)
