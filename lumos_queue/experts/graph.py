"""A feasible plan as a graph: which expert runs on what, and which of them may run side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.feasibility import assign_slots
from lumos_queue.experts.plans import Plan, Signature


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One run of an expert."""

    variable: str  #: that holds its output: 'E1'; numbered in the order in which the plan is written
    expert: str
    inputs: tuple[str, ...]  #: for each of the expert's slots a channel of the task or a variable


def ready_sets(plan: Plan, signature: Signature) -> list[list[PlanNode]]:
    """The nodes by level: those of one need nothing of each other. Of a feasible plan (`infeasible_because`)."""
    levels: dict[int, list[PlanNode]] = {}
    for level, node in _nodes(plan, signature):
        levels.setdefault(level, []).append(node)
    return [levels[level] for level in sorted(levels)]


def read_graph(nodes: Sequence[PlanNode], signature: Signature) -> Plan:
    """The plan whose nodes these are, in the order in which they ran. Raises ValueError for others."""
    branches: dict[str, list[str]] = {one.name: [] for one in signature.inputs}
    lane = {one.name: one.name for one in signature.inputs}  # of each name, the channel it came from; '': of several
    tail: list[str] = []
    for node in nodes:
        if any(name not in lane for name in node.inputs):
            raise ValueError(f"{node.variable} uses what nothing has set")
        lanes = {lane[name] for name in node.inputs}
        own = lanes.pop() if len(lanes) == 1 else ""
        lane[node.variable] = own
        (branches[own] if own else tail).append(node.expert)
    if len(signature.inputs) == 1:
        return Plan((), tuple(branches[signature.inputs[0].name]))
    return Plan(tuple(map(tuple, branches.values())), tuple(tail))


def _nodes(plan: Plan, signature: Signature) -> Iterator[tuple[int, PlanNode]]:
    """Each node with its level, in the order in which the plan is written."""
    number = level = 0
    ends: list[str] = [one.name for one in signature.inputs]
    kinds = [one.kind for one in signature.inputs]
    for lane, branch in enumerate(plan.branches):
        for depth, name in enumerate(branch):
            number += 1
            yield depth, PlanNode(f"E{number}", name, (ends[lane],))
            ends[lane], kinds[lane] = f"E{number}", EXPERTS[name].output
    level = max(map(len, plan.branches), default=0)
    inputs = tuple(ends[:1])
    if plan.branches:
        outputs = [Slot(one.name, kind) for one, kind in zip(signature.inputs, kinds, strict=True)]
        order = assign_slots(EXPERTS[plan.tail[0]], outputs)
        assert order is not None, "the plan is not feasible"
        inputs = tuple(ends[index] for index in order)
    for depth, name in enumerate(plan.tail, start=level):
        number += 1
        yield depth, PlanNode(f"E{number}", name, inputs)
        inputs = (f"E{number}",)


def read_signature(inputs: Mapping[str, object]) -> Signature:
    """The signature of a task from its inputs: `channels` and `output`. Raises ValueError for what is none."""
    channels = inputs.get("channels")
    if not isinstance(channels, list) or not channels:
        raise ValueError("the task has no channels")
    slots = []
    for one in channels:
        if not isinstance(one, Mapping) or not isinstance(one.get("name"), str):
            raise ValueError("a channel of the task has no name")
        slots.append(Slot(one["name"], Kind(str(one.get("kind")))))
    if len({one.name for one in slots}) < len(slots):
        raise ValueError("two channels of the task have the same name")
    return Signature(tuple(slots), Kind(str(inputs.get("output"))))
