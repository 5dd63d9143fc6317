"""Read decisions from ToolBench's trees. A decision is up to three consecutive nodes: Thought, Action, Action Input.

A Thought is a decision without a call if no Action follows it, or if its `expand_num` is positive. Nodes are in the
order of the search, so a walk from the root yields the decisions in the order of the requests to the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

THOUGHT, ACTION, INPUT = "Thought", "Action", "Action Input"
ROOT = -1  #: the `before` of the first decisions of a tree


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One reply of a recorded search, with the outcome of its call."""

    before: int  #: the decision that it follows, counted from 0; ROOT for none
    thought: str
    name: str = ""  #: of the function; '' where none was called
    arguments: str = ""
    observation: str = ""
    code: int | None = None  #: ToolBench's code of the outcome
    pruned: bool = False


def read_decisions(tree: Mapping[str, Any]) -> list[RecordedDecision]:
    """Return the decisions below a tree's root, in the order of the search."""
    decisions: list[RecordedDecision] = []
    pending: list[tuple[Mapping[str, Any], int]] = [(child, ROOT) for child in reversed(tree["children"])]
    while pending:
        node, before = pending.pop()
        last, decision = _read_decision(node, before)
        pending += [(child, len(decisions)) for child in reversed(last["children"])]
        decisions.append(decision)
    return decisions


def read_chain(
    chain: Sequence[Mapping[str, Any]], first: int = 0, lone_thoughts: Collection[int] = ()
) -> list[RecordedDecision]:
    """Return the decisions of a chain of nodes.

    `first`: the number of its first decision among all decisions. `lone_thoughts`: indexes of thoughts that are
    decisions without a call although an action follows.
    """
    tree: dict[str, Any] = {"children": []}
    for index, node in reversed(list(enumerate(chain))):
        expand_num = 1 if index in lone_thoughts else node["expand_num"]
        tree = {"children": [{**node, **tree, "expand_num": expand_num}]}
    return [
        replace(decision, before=decision.before + first if decision.before != ROOT else ROOT)
        for decision in read_decisions(tree)
    ]


def path_to(decisions: Sequence[RecordedDecision], last: int) -> list[int]:
    """Return the numbers of the decisions on the path from the first decision to `last`."""
    path = []
    while last != ROOT:
        path.append(last)
        last = decisions[last].before
    return path[::-1]


def _read_decision(node: Mapping[str, Any], before: int) -> tuple[Mapping[str, Any], RecordedDecision]:
    """Return the last node of the decision that begins with this node, and the decision."""
    thought = ""
    if node["node_type"] == THOUGHT:
        thought = node["description"]
        if node["expand_num"] > 0 or not node["children"] or node["children"][0]["node_type"] != ACTION:
            return node, RecordedDecision(before, thought, pruned=node["pruned"])
        node = node["children"][0]
    name, last = node["description"], node["children"][0]
    observation, code = last.get("observation") or "", last.get("observation_code")
    return last, RecordedDecision(before, thought, name, last["description"], observation, code, last["pruned"])


def count_nodes(tree: Mapping[str, Any]) -> int:
    """Count the nodes of a tree, including its root."""
    return sum(1 for _ in walk(tree))


def walk(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every node, parents before their children, children in order."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node["children"])
