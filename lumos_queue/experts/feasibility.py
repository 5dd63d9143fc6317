"""Checks whether a plan can run on a task: known names, matching types, no repetition, the output of the task.

The rules follow from the task's signature. In OpenAGI's code, they follow from the task's position in a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import MAX_MODULES, Plan, Signature


def infeasible_because(
    plan: Plan, signature: Signature, registry: Mapping[str, Expert] = EXPERTS, strict: bool = True
) -> str:
    """Return why the plan cannot run on a task of this signature, as text for a person; '' if it can.

    `registry`: the experts by name. `strict`: whether a repeated expert, and more than MAX_MODULES experts one after
    another, are problems; plans without other problems can be run.
    """
    return (
        _problem_of_names(plan, registry)
        or (_problem_of_limits(plan) if strict else "")
        or _problem_of_shape(plan, signature)
        or (_problem_of_branches(plan, signature, registry) if plan.branches else "")
        or _problem_of_sequence(plan, signature, registry)
    )


def assign_slots(join: Expert, inputs: Sequence[Slot]) -> tuple[int, ...] | None:
    """Return the index of the input for each slot of the join; None if the inputs do not fit.

    `inputs` are the outputs of the branches, each with its channel's name. An input fits a slot of its type. If two
    inputs have the same type (a document and a question), the input whose channel has the slot's name fits.
    """
    assignment: list[int] = []
    for slot in join.slots:
        candidates = [index for index, channel in enumerate(inputs) if channel.kind == slot.kind]
        if len(candidates) > 1:
            candidates = [index for index in candidates if inputs[index].name == slot.name]
        if len(candidates) != 1 or candidates[0] in assignment:
            return None
        assignment.append(candidates[0])
    return tuple(assignment) if len(assignment) == len(inputs) else None


def _problem_of_names(plan: Plan, registry: Mapping[str, Expert]) -> str:
    if not plan.names:
        return "the plan names no expert"
    for name in plan.names:
        if name not in registry:
            return f"there is no expert '{name[:80]}'"
    return ""


def _problem_of_limits(plan: Plan) -> str:
    longest = max(map(len, plan.branches), default=0) + len(plan.tail)
    if longest > MAX_MODULES:
        return f"{longest} experts one after another, at most {MAX_MODULES} may be"
    for segment in (*plan.branches, plan.tail):
        for index, name in enumerate(segment):
            if name in segment[:index]:
                return f"'{name}' is repeated"
    return ""


def _problem_of_shape(plan: Plan, signature: Signature) -> str:
    input_count = len(signature.inputs)
    if input_count == 1 and plan.branches:
        return f"the plan has {len(plan.branches)} branches, the task one input"
    if input_count > 1 and len(plan.branches) != input_count:
        had = f"{len(plan.branches)} branches" if plan.branches else "no branches"
        return f"the plan has {had}, the task {input_count} inputs"
    return "" if plan.tail else "nothing joins the branches"


def _problem_of_branches(plan: Plan, signature: Signature, registry: Mapping[str, Expert]) -> str:
    """Return the problem of the branches and the join, or ''."""
    outputs: list[Slot] = []
    for branch, channel in zip(plan.branches, signature.inputs, strict=True):
        kind, problem = _follow(branch, channel.kind, registry)
        if problem:
            return f"in the branch of '{channel.name}': {problem}"
        outputs.append(Slot(channel.name, kind))
    join = registry[plan.tail[0]]
    if assign_slots(join, outputs) is None:
        takes = " and ".join(slot.name for slot in join.slots)
        outputs_text = " and ".join(f"{slot.name} ({slot.kind})" for slot in outputs)
        return f"'{join.name}' takes {takes}, and gets {outputs_text}"
    return ""


def _problem_of_sequence(plan: Plan, signature: Signature, registry: Mapping[str, Expert]) -> str:
    """Return the problem of the steps after the join, or of all steps of a plan without branches; '' if none."""
    kind, rest = signature.inputs[0].kind, plan.tail
    if plan.branches:
        kind, rest = registry[rest[0]].output, rest[1:]
    kind, problem = _follow(rest, kind, registry)
    if not problem and kind != signature.output:
        return f"the plan ends in {kind}, the task asks for {signature.output}"
    return problem


def _follow(names: Sequence[str], kind: Kind, registry: Mapping[str, Expert]) -> tuple[Kind, str]:
    """Return the kind of the output after these experts ran in order on an input, and the problem, or ''."""
    for name in names:
        expert = registry[name]
        if len(expert.slots) != 1:
            return kind, f"'{name}' takes {len(expert.slots)} inputs, and gets one"
        if expert.slots[0].kind != kind:
            return kind, f"'{name}' takes {expert.slots[0].kind}, and gets {kind}"
        kind = expert.output
    return kind, ""
