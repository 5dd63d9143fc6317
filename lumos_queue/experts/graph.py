"""Convert feasible plans to graphs and back. A graph shows each expert's inputs and which experts can run together."""

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

    variable: str  #: the variable of its output: 'E1'; numbers follow the order of the plan's text
    expert: str
    inputs: tuple[str, ...]  #: for each of the expert's slots a channel of the task or a variable


def ready_sets(plan: Plan, signature: Signature) -> list[list[PlanNode]]:
    """Return the nodes of a feasible plan (`infeasible_because`) by level. Nodes of a level are independent."""
    levels: dict[int, list[PlanNode]] = {}
    for level, node in _nodes(plan, signature):
        levels.setdefault(level, []).append(node)
    return [levels[level] for level in sorted(levels)]


def read_graph(nodes: Sequence[PlanNode], signature: Signature) -> Plan:
    """Return the plan of these nodes, which are in the order of their runs. Raises ValueError if they form none."""
    branches: dict[str, list[str]] = {slot.name: [] for slot in signature.inputs}
    lane = {
        slot.name: slot.name for slot in signature.inputs
    }  # name → the channel that its value comes from; '': several channels
    tail: list[str] = []
    for node in nodes:
        if any(name not in lane for name in node.inputs):
            raise ValueError(f"{node.variable} uses what nothing has set")
        lanes = {lane[name] for name in node.inputs}
        channel = lanes.pop() if len(lanes) == 1 else ""
        lane[node.variable] = channel
        (branches[channel] if channel else tail).append(node.expert)
    if len(signature.inputs) == 1:
        return Plan((), tuple(branches[signature.inputs[0].name]))
    return Plan(tuple(map(tuple, branches.values())), tuple(tail))


def _nodes(plan: Plan, signature: Signature) -> Iterator[tuple[int, PlanNode]]:
    """Yield (level, node) for each expert, in the order of the plan's text. Nodes of a level are independent."""
    number = level = 0
    ends: list[str] = [slot.name for slot in signature.inputs]
    kinds = [slot.kind for slot in signature.inputs]
    for lane, branch in enumerate(plan.branches):
        for depth, name in enumerate(branch):
            number += 1
            yield depth, PlanNode(f"E{number}", name, (ends[lane],))
            ends[lane], kinds[lane] = f"E{number}", EXPERTS[name].output
    level = max(map(len, plan.branches), default=0)
    inputs = tuple(ends[:1])
    if plan.branches:
        outputs = [Slot(slot.name, kind) for slot, kind in zip(signature.inputs, kinds, strict=True)]
        order = assign_slots(EXPERTS[plan.tail[0]], outputs)
        assert order is not None, "the plan is not feasible"
        inputs = tuple(ends[index] for index in order)
    for depth, name in enumerate(plan.tail, start=level):
        number += 1
        yield depth, PlanNode(f"E{number}", name, inputs)
        inputs = (f"E{number}",)


def read_signature(inputs: Mapping[str, object]) -> Signature:
    """Return the signature of a task from its inputs `channels` and `output`. Raises ValueError for bad inputs."""
    channels = inputs.get("channels")
    if not isinstance(channels, list) or not channels:
        raise ValueError("the task has no channels")
    slots = []
    for channel in channels:
        if not isinstance(channel, Mapping) or not isinstance(channel.get("name"), str):
            raise ValueError("a channel of the task has no name")
        slots.append(Slot(channel["name"], Kind(str(channel.get("kind")))))
    if len({slot.name for slot in slots}) < len(slots):
        raise ValueError("two channels of the task have the same name")
    return Signature(tuple(slots), Kind(str(inputs.get("output"))))
