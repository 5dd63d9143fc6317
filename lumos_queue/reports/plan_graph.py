"""Make the graph of a plan of experts as it ran: its nodes by level, with inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.queries.trajectory import Trajectory
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Action, Execution
from lumos_queue.reports.pictures import Picture
from lumos_queue.util.untrusted_json import read_json


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node: an input of the task, or a run of an expert."""

    name: str  #: the channel, or the variable that holds its output
    expert: str  #: '' for an input
    inputs: Sequence[str]  #: names of nodes
    at: str  #: the number of its step; '' for an input
    text: str  #: its output, or its error
    ok: bool
    pictures: Sequence[Picture]


def read_graph(trajectory: Trajectory, pictures: Sequence[Picture]) -> list[list[GraphNode]]:
    """Return the nodes by level, the inputs of the task first; [] if the episode has no plan of experts.

    `pictures` are those of `list_pictures`.
    """
    formulation = FORMULATIONS.find(trajectory.episode.formulation)
    if formulation is None or not formulation.experts:
        return []
    pictures_by_name: dict[str, list[Picture]] = {}
    for picture in pictures:
        pictures_by_name.setdefault(picture.of, []).append(picture)
    inputs = [_input(channel, pictures_by_name) for channel in _channels(trajectory.task.inputs)]
    levels = {node.name: 0 for node in inputs}
    nodes_by_level: dict[int, list[GraphNode]] = {0: inputs} if inputs else {}
    for step in trajectory.steps:
        if not isinstance(step.detail, Action) or not isinstance(step.result, Execution):
            continue
        action, execution = step.detail, step.result
        name = ", ".join(action.variables)
        input_names = _names(action.arguments)
        level = 1 + max((levels.get(input_name, 0) for input_name in input_names), default=0)
        levels[name] = level
        node = GraphNode(
            name,
            action.name,
            input_names,
            str(step.position),
            execution.result if execution.ok else f"{execution.status}: {execution.message}",
            execution.ok,
            pictures_by_name.get(f"{step.position}-{name}", ()),
        )
        nodes_by_level.setdefault(level, []).append(node)
    return [nodes_by_level[level] for level in sorted(nodes_by_level)]


def _channels(inputs: object) -> list[Mapping[str, object]]:
    channels = inputs.get("channels") if isinstance(inputs, Mapping) else None
    return [channel for channel in channels if isinstance(channel, Mapping)] if isinstance(channels, list) else []


def _input(channel: Mapping[str, object], pictures_by_name: Mapping[str, Sequence[Picture]]) -> GraphNode:
    name, values = str(channel.get("name")), channel.get("values")
    texts = values if channel.get("kind") == "text" and isinstance(values, list) else []
    return GraphNode(name, "", (), "", "\n".join(map(str, texts)), True, pictures_by_name.get(name, ()))


def _names(arguments: str) -> list[str]:
    """Return the names of an expert's inputs from a JSON list; [] for other arguments, which no expert accepts."""
    try:
        names = read_json(arguments)
    except ValueError:
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
