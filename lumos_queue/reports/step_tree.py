"""Make the tree of the steps of a tool agent that tried several paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.episode_values import Step
from lumos_queue.text_calls.three_lines import MARKED, read_reply

ROOT = -1
MAX_DEPTH = 12  #: limit of nested branches; deeper branches are appended to the same way one after another


@dataclass(slots=True)
class TreeNode:
    """A decision or an action. A single next step is on the same path; each of several next steps begins a branch."""

    at: str
    text: str
    result: str
    branches: list[list[TreeNode]] = field(default_factory=list)


def read_tree(steps: Sequence[Step], version: int = MARKED) -> list[list[TreeNode]]:
    """Return the paths from the root; [] without a tree. Only the last node of a path can have branches.

    Each step with a parent is in the tree once. `version` is that of the formulation, which decides how replies are
    read.
    """
    tree_steps = [step for step in steps if step.parent is not None and step.within is None]
    step_names = {step.at for step in tree_steps}
    children: dict[str, list[Step]] = {}
    for step in tree_steps:
        parent = str(step.parent)
        children.setdefault(parent if parent in step_names else str(ROOT), []).append(step)
    return _ways(children, str(ROOT), version)


def _ways(children: dict[str, list[Step]], root: str, version: int) -> list[list[TreeNode]]:
    """Return the paths from `root`. A stack replaces recursion, because a path may have thousands of steps."""
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
        after = children.get(step.at, [])
        if len(after) == 1:
            remaining.append((after[0], way, depth))
        elif depth < MAX_DEPTH:
            part(after, node.branches, depth + 1)
        else:
            remaining += [(child, way, depth) for child in reversed(after)]
    return ways


def _node(step: Step, version: int) -> TreeNode:
    if step.who == "tool":
        return TreeNode(step.at, step.what, step.result)
    thought = read_reply(step.what, version).thought
    return TreeNode(step.at, thought or step.what, "")
