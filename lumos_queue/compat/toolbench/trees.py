"""ToolBench's trees ↔ decisions. A decision is up to three nodes in a row: Thought, Action, Action Input.

A reply without a call is a Thought of its own: one that was expanded itself, or that no Action follows. Nodes are in
the order of the search, so a walk from the root gives the decisions in the order in which the model was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

THOUGHT, ACTION, INPUT = "Thought", "Action", "Action Input"
ROOT = -1  #: the `before` of the decisions that a tree begins with


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One reply of a recorded search, and what came of it."""

    before: int  #: which decision it follows, counted from 0; ROOT for none
    thought: str
    name: str = ""  #: of the function; '' where none was called
    arguments: str = ""
    observation: str = ""
    code: int | None = None  #: ToolBench's number of what came of it
    pruned: bool = False


def read_decisions(tree: Mapping[str, Any]) -> list[RecordedDecision]:
    """The decisions below a tree's root, in the order in which they were made."""
    decisions: list[RecordedDecision] = []
    pending: list[tuple[Mapping[str, Any], int]] = [(child, ROOT) for child in reversed(tree["children"])]
    while pending:
        node, before = pending.pop()
        last, decision = _read_decision(node, before)
        pending += [(child, len(decisions)) for child in reversed(last["children"])]
        decisions.append(decision)
    return decisions


def read_chain(chain: Sequence[Mapping[str, Any]], first: int = 0) -> list[RecordedDecision]:
    """The decisions of a chain, whose nodes come one after the other. `first`: number of the first of them."""
    tree: dict[str, Any] = {"children": []}
    for node in reversed(chain):
        tree = {"children": [{**node, **tree}]}
    return [
        replace(decision, before=decision.before + first if decision.before != ROOT else ROOT)
        for decision in read_decisions(tree)
    ]


def path_to(decisions: Sequence[RecordedDecision], last: int) -> list[int]:
    """The numbers of the decisions from the first one to this one."""
    path = []
    while last != ROOT:
        path.append(last)
        last = decisions[last].before
    return path[::-1]


def _read_decision(node: Mapping[str, Any], before: int) -> tuple[Mapping[str, Any], RecordedDecision]:
    """The decision that begins with a node, and its last node."""
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
    """The nodes of a tree, its root included."""
    return sum(1 for _ in walk(tree))


def walk(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every node, parents before their children, children in order."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += reversed(node["children"])
