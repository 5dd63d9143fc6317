"""The graph that a plan of experts ran as: by level its nodes, what each was given and what it gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Action, Execution
from lumos_queue.reports.pictures import Picture
from lumos_queue.util.untrusted_json import read_json


@dataclass(frozen=True, slots=True)
class GraphNode:
    """An input of the task, or a run of an expert."""

    name: str  #: the channel, or the variable that holds its output
    expert: str  #: '' for an input
    inputs: Sequence[str]  #: names of nodes
    at: str  #: its step; '' for an input
    text: str  #: what it gave, or the error it ended in
    ok: bool
    pictures: Sequence[Picture]


def read_graph(trajectory: Any, pictures: Sequence[Picture]) -> list[list[GraphNode]]:
    """The nodes by level, the inputs of the task first; [] for what is not a plan of experts.

    `pictures`: those that list_pictures gives of it.
    """
    formulation = FORMULATIONS.find(trajectory.episode.formulation)
    if formulation is None or not formulation.experts:
        return []
    shown: dict[str, list[Picture]] = {}
    for one in pictures:
        shown.setdefault(one["of"], []).append(one)
    inputs = [_input(one, shown) for one in _channels(trajectory.task.inputs)]
    levels = {node.name: 0 for node in inputs}
    found: dict[int, list[GraphNode]] = {0: inputs} if inputs else {}
    for step in trajectory.steps:
        if not isinstance(step.detail, Action) or not isinstance(step.result, Execution):
            continue
        action, done = step.detail, step.result
        name = ", ".join(action.variables)
        given = _names(action.arguments)
        level = 1 + max((levels.get(one, 0) for one in given), default=0)
        levels[name] = level
        node = GraphNode(
            name,
            action.name,
            given,
            str(step.position),
            done.result if done.ok else f"{done.status}: {done.message}",
            done.ok,
            shown.get(f"{step.position}-{name}", ()),
        )
        found.setdefault(level, []).append(node)
    return [found[level] for level in sorted(found)]


def _channels(inputs: Any) -> list[Mapping[str, Any]]:
    channels = inputs.get("channels") if isinstance(inputs, Mapping) else None
    return [one for one in channels if isinstance(one, Mapping)] if isinstance(channels, list) else []


def _input(channel: Mapping[str, Any], shown: Mapping[str, Sequence[Picture]]) -> GraphNode:
    name, values = str(channel.get("name")), channel.get("values")
    texts = values if channel.get("kind") == "text" and isinstance(values, list) else []
    return GraphNode(name, "", (), "", "\n".join(map(str, texts)), True, shown.get(name, ()))


def _names(arguments: str) -> list[str]:
    """The names that an action of an expert is given: a JSON list; [] for anything else, which did not run."""
    try:
        found = read_json(arguments)
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
