"""The tree that a tool agent's steps lie in, where it tried several ways: branches below the step they part at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.lanes import Step
from lumos_queue.text_calls.three_lines import MARKED, read_reply

ROOT = -1
MAX_DEPTH = 12  #: branchings below each other that are told as such; what parts further down goes on in a row


@dataclass(slots=True)
class TreeNode:
    """A decision or an action. What follows it alone is beside it; below it are the ways that part here."""

    at: str
    text: str
    result: str
    branches: list[list[TreeNode]] = field(default_factory=list)


def read_tree(steps: Sequence[Step], version: int = MARKED) -> list[list[TreeNode]]:
    """The ways from the root, each a run of nodes of which only the last can have branches; [] without a tree.

    Every step that has a parent is in it once. `version`: of the formulation, which decides how replies are read.
    """
    tree_steps = [step for step in steps if "parent" in step and "within" not in step]
    step_names = {step["at"] for step in tree_steps}
    children: dict[str, list[Step]] = {}
    for step in tree_steps:
        parent = str(step["parent"])
        children.setdefault(parent if parent in step_names else str(ROOT), []).append(step)
    return _ways(children, str(ROOT), version)


def _ways(children: dict[str, list[Step]], root: str, version: int) -> list[list[TreeNode]]:
    """By a list of what is left to do, as a way may be thousands of steps long."""
    ways: list[list[TreeNode]] = []
    remaining: list[tuple[Step, list[TreeNode], int]] = []

    def part(steps: list[Step], into: list[list[TreeNode]], depth: int) -> None:
        for step in steps:
            into.append(way := [])
            remaining.append((step, way, depth))

    part(children.get(root, []), ways, 0)
    while remaining:
        step, way, depth = remaining.pop()
        way.append(node := _node(step, version))
        after = children.get(step["at"], [])
        if len(after) == 1:
            remaining.append((after[0], way, depth))
        elif depth < MAX_DEPTH:
            part(after, node.branches, depth + 1)
        else:
            remaining += [(child, way, depth) for child in reversed(after)]
    return ways


def _node(step: Step, version: int) -> TreeNode:
    if step["who"] == "tool":
        return TreeNode(step["at"], step["what"], step["result"])
    thought = read_reply(step["what"], version).thought
    return TreeNode(step["at"], thought or step["what"], "")
