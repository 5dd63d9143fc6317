"""Whether a plan can run on a task: known names, fitting types, no repetition, and the output that the task asks for.

The rules follow from the task's signature, and not from its place in a list as in OpenAGI's code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import MAX_MODULES, Plan, Signature


def infeasible_because(plan: Plan, signature: Signature, registry: Mapping[str, Expert] = EXPERTS) -> str:
    """Why the plan cannot run on such a task, for a person; '' if it can. `registry`: the experts by name."""
    return (
        _problem_of_names(plan, registry)
        or _problem_of_shape(plan, signature)
        or (_problem_of_branches(plan, signature, registry) if plan.branches else "")
        or _problem_of_sequence(plan, signature, registry)
    )


def assign_slots(join: Expert, inputs: Sequence[Slot]) -> tuple[int, ...] | None:
    """For each slot of the join, which of the inputs goes there; None where they do not fit.

    `inputs`: what comes out of the branches, each with the name of the channel it came from. Where types differ, they
    decide; where two inputs have the same type (a document and a question), the channel of that name does.
    """
    found: list[int] = []
    for slot in join.slots:
        fitting = [index for index, one in enumerate(inputs) if one.kind == slot.kind]
        if len(fitting) > 1:
            fitting = [index for index in fitting if inputs[index].name == slot.name]
        if len(fitting) != 1 or fitting[0] in found:
            return None
        found.append(fitting[0])
    return tuple(found) if len(found) == len(inputs) else None


def _problem_of_names(plan: Plan, registry: Mapping[str, Expert]) -> str:
    if not plan.names:
        return "the plan names no expert"
    longest = max(map(len, plan.branches), default=0) + len(plan.tail)
    if longest > MAX_MODULES:
        return f"{longest} experts one after another, at most {MAX_MODULES} may be"
    for name in plan.names:
        if name not in registry:
            return f"there is no expert '{name[:80]}'"
    for segment in (*plan.branches, plan.tail):
        for index, name in enumerate(segment):
            if name in segment[:index]:
                return f"'{name}' is repeated"
    return ""


def _problem_of_shape(plan: Plan, signature: Signature) -> str:
    wanted = len(signature.inputs)
    if wanted == 1 and plan.branches:
        return f"the plan has {len(plan.branches)} branches, the task one input"
    if wanted > 1 and len(plan.branches) != wanted:
        had = f"{len(plan.branches)} branches" if plan.branches else "no branches"
        return f"the plan has {had}, the task {wanted} inputs"
    return "" if plan.tail else "nothing joins the branches"


def _problem_of_branches(plan: Plan, signature: Signature, registry: Mapping[str, Expert]) -> str:
    """Of the branches and the join."""
    outputs: list[Slot] = []
    for branch, channel in zip(plan.branches, signature.inputs, strict=True):
        kind, problem = _follow(branch, channel.kind, registry)
        if problem:
            return f"in the branch of '{channel.name}': {problem}"
        outputs.append(Slot(channel.name, kind))
    join = registry[plan.tail[0]]
    if assign_slots(join, outputs) is None:
        takes = " and ".join(one.name for one in join.slots)
        given = " and ".join(f"{one.name} ({one.kind})" for one in outputs)
        return f"'{join.name}' takes {takes}, and gets {given}"
    return ""


def _problem_of_sequence(plan: Plan, signature: Signature, registry: Mapping[str, Expert]) -> str:
    """Of what follows the join, or of the plan that is a sequence."""
    kind, rest = signature.inputs[0].kind, plan.tail
    if plan.branches:
        kind, rest = registry[rest[0]].output, rest[1:]
    kind, problem = _follow(rest, kind, registry)
    if not problem and kind != signature.output:
        return f"the plan ends in {kind}, the task asks for {signature.output}"
    return problem


def _follow(names: Sequence[str], kind: Kind, registry: Mapping[str, Expert]) -> tuple[Kind, str]:
    """What comes out where a value of that kind goes through these experts; or what keeps it from that."""
    for name in names:
        expert = registry[name]
        if len(expert.slots) != 1:
            return kind, f"'{name}' takes {len(expert.slots)} inputs, and gets one"
        if expert.slots[0].kind != kind:
            return kind, f"'{name}' takes {expert.slots[0].kind}, and gets {kind}"
        kind = expert.output
    return kind, ""
