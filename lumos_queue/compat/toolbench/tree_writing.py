"""Write decisions as ToolBench's nodes: the tree of a search, or chains of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.compat.toolbench.trees import ACTION, INPUT, ROOT, THOUGHT, RecordedDecision

ANSWERED, GAVE_UP = 3, 4  #: ToolBench's codes of a Finish
FINISHED_LEVELS = 2  #: actions above an answer that are marked as finished

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeStyle:
    """The fields of nodes that do not follow from decisions, and differ between the programs that wrote the files."""

    elo: float = 1000.0  #: of a ranking that this search does not make
    matching_time: bool = False  #: whether the field is written, as 0
    terminals: bool = True  #: whether `is_terminal` is true for answers; it is always false in the published files
    #: Whether `expand_num` numbers the decisions of chains, too. ToolBench's files do not: there, a thought without a
    #: call and a following call without a thought look like one decision.
    numbered: bool = True
    #: Whether a try that answers has `win`. ToolBench's files do not: `win` is written before the answer is looked at.
    wins: bool = False


def write_tree(decisions: Sequence[RecordedDecision], style: NodeStyle) -> dict[str, Any]:
    """Return the tree of a search, its size (number of nodes), and its length (number of nodes on the longest path)."""
    root = _node(INPUT, "", 0, style, io_state={})
    lasts: list[Node] = []
    parents: dict[int, Node | None] = {id(root): None}
    nodes = [root]
    for number, decision in enumerate(decisions, start=1):
        above = lasts[decision.before] if decision.before != ROOT else root
        for node in _nodes_of(decision, above["depth"] + 1, style):
            parents[id(node)] = above
            above["children"].append(node)
            above["child_count"] += 1
            nodes.append(node)
            above = node
        above["expand_num"] = number
        lasts.append(above)
    for decision, last in zip(decisions, lasts, strict=True):
        last["pruned"] = decision.pruned
        if decision.code == ANSWERED:
            _finish(last, parents)
    return {"size": len(nodes), "max_length": 1 + max(node["depth"] for node in nodes), "tree": root}


def write_chains(decisions: Sequence[RecordedDecision], style: NodeStyle) -> list[dict[str, Any]]:
    """Return the chains of tries. A decision without predecessor begins a new chain."""
    attempts: list[dict[str, Any]] = []
    for number, decision in enumerate(decisions, start=1):
        if decision.before == ROOT or not attempts:
            attempts.append({"chain": [], "win": False})
        chain = attempts[-1]["chain"]
        nodes = list(_nodes_of(decision, len(chain) + 1, style))
        nodes[-1] |= {"pruned": decision.pruned, "expand_num": number if style.numbered else 0}
        chain += nodes
        attempts[-1]["win"] = style.wins and decision.code == ANSWERED
    for attempt in attempts:
        for position, node in enumerate(attempt["chain"], start=1):
            del node["children"]
            node["child_count"] = int(position < len(attempt["chain"]))
    return attempts


def list_answered_attempts(attempts: Sequence[Mapping[str, Any]]) -> list[list[Node]]:
    """Return the chains that end with an answer."""
    chains = (attempt["chain"] for attempt in attempts)
    return [chain for chain in chains if chain[-1].get("observation_code") == ANSWERED]


def list_answered_chains(root: Node) -> list[list[Node]]:
    """Return each path of a tree that ends with an answer, as a list of nodes without their children."""
    chains: list[list[Node]] = []
    pending: list[tuple[Node, tuple[Node, ...]]] = [(root, ())]
    while pending:
        node, path = pending.pop()
        if node.get("observation_code") == ANSWERED:
            chains.append(
                [{name: value for name, value in path_node.items() if name != "children"} for path_node in path]
            )
        pending += [(child, (*path, child)) for child in reversed(node["children"])]
    return chains


def mark_pruned(decisions: Sequence[RecordedDecision], unfinished: int = ROOT) -> list[RecordedDecision]:
    """Return the decisions with a mark: `pruned` is true for a decision at which a path ends without an answer.

    `unfinished`: the decision after which the search was stopped, whose path has no end; ROOT for none.
    """
    parents = {unfinished, *(decision.before for decision in decisions)}
    return [
        replace(decision, pruned=number not in parents and decision.code != ANSWERED)
        for number, decision in enumerate(decisions)
    ]


def _nodes_of(decision: RecordedDecision, depth: int, style: NodeStyle) -> Iterator[Node]:
    """Yield the one to three nodes of a decision; without thought and call, it is a node with an empty thought."""
    if decision.thought or not decision.name:
        yield _node(THOUGHT, decision.thought, depth, style)
        depth += 1
    if decision.name:
        yield _node(ACTION, decision.name, depth, style)
        observation: dict[str, Any] = {"observation": decision.observation} if decision.observation else {}
        observation |= {} if decision.code is None else {"observation_code": decision.code}
        last = _node(INPUT, decision.arguments, depth + 1, style, **observation, io_state={})
        last["is_terminal"] = style.terminals and decision.code == ANSWERED
        yield last


def _node(kind: str, description: str, depth: int, style: NodeStyle, **extra_fields: Any) -> Node:
    return {
        "is_terminal": False,
        "pruned": False,
        "finished": False,
        "depth": depth,
        "node_type": kind,
        "description": description,
        "Elo": style.elo,
        **({"matching_time": 0} if style.matching_time else {}),
        **extra_fields,
        "child_count": 0,
        "expand_num": 0,
        "children": [],
    }


def _finish(last: Node, parents: dict[int, Node | None]) -> None:
    """Mark an answer and the nodes above it as finished, up to the input of the FINISHED_LEVELS-th action above."""
    node: Node | None = last
    remaining_levels = FINISHED_LEVELS
    while node is not None and remaining_levels >= 0:
        node["finished"] = True
        remaining_levels -= node["node_type"] == INPUT
        node = parents[id(node)]
