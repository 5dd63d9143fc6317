"""Random searches of tool agents, and a second reading of their steps: ToolBench's algorithms, written down again.

This module shares no code with the exporter. Replies are read from the table of the script that wrote them, and trees
and counts come from the searches of spec/sum2act.md 4, which consume the stored steps in their order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from db.journal.step_records import RecordedStep
from lumos_queue.records import Completion, Execution
from tests import tool_apis

Parts = tuple[str | None, str, str]  #: thought (None: the reply has a call only), name ('': no call), arguments
CODES = {"ok": 0, "unknown_action": 1, "invalid_arguments": 2, "give_up": 4, "tool_error": 11}
ENOUGH = 10**6  #: levels to go back at the end of a search


def make_reply(parts: Parts) -> str:
    thought, name, arguments = parts
    lines = [] if thought is None else [f"Thought: {thought}"]
    return "\n".join([*lines, f"Action: {name}", f"Action Input: {arguments}"] if name else lines)


def random_parts(random: Random, answers: float, function: str = tool_apis.LATEST_NAME) -> Parts:
    """Return a reply: a call with or without a thought, or a thought. `answers`: the share of replies that answer."""
    number = random.randrange(1000)
    thought = f"thought {number}" if random.random() < 0.6 else None
    if random.random() < answers:
        return thought, "Finish", json.dumps({"return_type": "give_answer", "final_answer": f"answer {number}"})
    kind = random.choice(["look", "look", "look", "thought", "thought", "unknown", "give up", "bad finish", "bad call"])
    if kind == "thought":
        return f"thought {number}" if number % 10 else "", "", ""
    if kind == "look":
        return thought, function, json.dumps({"parcelid": f"P{random.randrange(1, 5)}"})
    if kind == "give up":
        return thought, "Finish", json.dumps({"return_type": "give_up_and_restart", "note": number})
    if kind == "bad finish":
        return thought, "Finish", json.dumps({"return_type": "give_answer"})
    return thought, "nosuch" if kind == "unknown" else function, json.dumps({"number": number})


#: Two parcels with an answer, one whose answer is an error; the fourth has no recorded answer.
ANSWERS = [
    tool_apis.record(),
    tool_apis.record(arguments={"parcelid": "P2"}, response="here"),
    tool_apis.record(arguments={"parcelid": "P3"}, response="", error="broken", code=11),
]


@dataclass(eq=False)
class Node:
    """A node of ToolBench's trees."""

    kind: str
    text: str
    above: Node | None = None
    observation: str = ""
    code: int | None = None
    pruned: bool = False
    number: int = 0
    children: list[Node] = field(default_factory=list)

    def add(self, kind: str, text: str) -> Node:
        self.children.append(Node(kind, text, self))
        return self.children[-1]

    @property
    def depth(self) -> int:
        return 0 if self.above is None else self.above.depth + 1


class Replay:
    """The search that consumed these steps."""

    def __init__(self, steps: Sequence[RecordedStep], table: dict[str, Parts]):
        own_steps = [step.result for step in steps if step.branch == 0]
        self._replies = iter([result for result in own_steps if isinstance(result, Completion)])
        self._executions = iter([result for result in own_steps if isinstance(result, Execution)])
        self._table = table
        self.count = self._number = 0
        self.answers: list[Node] = []
        self.give_ups: list[Node] = []
        self.chains: list[Node] = []

    def _ask(self) -> Parts | None:
        reply = next(self._replies, None)
        self.count += reply is not None
        return None if reply is None else self._table[reply.text]

    def _add(self, node: Node, parts: Parts) -> Node:
        thought, name, arguments = parts
        if thought is not None:
            node = node.add("Thought", thought)
        if name:
            execution = next(self._executions)
            node = node.add("Action", name).add("Action Input", arguments)
            node.observation = execution.result
            node.code = 3 if execution.ends else CODES.get(execution.status)
        return node

    def chain(self, tries: int, depth: int) -> None:
        """Run CoT@n. A limit of calls can end it, too: there are no more steps then."""
        for _ in range(tries):
            node, parts = Node("Action Input", ""), self._ask()
            if parts is None:
                return
            self.chains.append(node)
            while parts is not None:
                node = self._add(node, parts)
                node.pruned = node.code == 4 or (node.depth >= depth and node.code != 3)
                if node.pruned or node.code == 3:
                    break
                parts = self._ask()
            node.pruned = node.code != 3
            if node.code == 3:
                self.answers.append(node)
                return

    def search(self, node: Node, width: int, depth: int, calls: int, back_off: int) -> int:
        """Run DFSDT below a node; return the levels to go back."""
        node.number, self._number = self._number, self._number + 1
        if node.code == 3:
            self.answers.append(node)
            return ENOUGH
        if node.code == 4 or node.depth >= depth:
            node.pruned = True
            if node.code == 4:
                self.give_ups.append(node)
            return 2 if node.code == 4 else back_off
        for _ in range(width):
            parts = self._ask()
            assert parts is not None
            if self.count >= calls:
                return ENOUGH
            levels = self.search(self._add(node, parts), width, depth, calls, back_off)
            if levels > 1:
                return levels - 1
        return 1

    def assert_complete(self) -> None:
        """Check that no step is left over."""
        assert next(self._replies, None) is None and next(self._executions, None) is None


def describe_tree(node: Node) -> Any:
    """Return a node with all below it, as `describe_written` does for a node of a file."""
    return (
        (node.kind, node.text, node.depth, node.observation, node.code, node.pruned, node.number, len(node.children)),
        [describe_tree(child) for child in node.children],
    )


def describe_chain(root: Node) -> list[Any]:
    nodes: list[Any] = []
    while root.children:
        (root,) = root.children
        nodes.append((root.kind, root.text, root.depth, root.observation, root.code, root.pruned, len(root.children)))
    return nodes


def describe_written(node: dict[str, Any]) -> Any:
    names = ("node_type", "description", "depth")
    values = (*(node[name] for name in names), node.get("observation", ""), node.get("observation_code"))
    return (
        (*values, node["pruned"], node["expand_num"], node["child_count"]),
        [describe_written(child) for child in node["children"]],
    )


def describe_written_chain(chain: list[dict[str, Any]]) -> list[Any]:
    names = ("node_type", "description", "depth")
    return [
        (
            *(node[name] for name in names),
            node.get("observation", ""),
            node.get("observation_code"),
            node["pruned"],
            node["child_count"],
        )
        for node in chain
    ]


def size_of(node: Node) -> int:
    return 1 + sum(map(size_of, node.children))


def height_of(node: Node) -> int:
    return 1 + max(map(height_of, node.children), default=0)


def find_differences(content: dict[str, Any], replay: Replay, root: Node | None) -> list[str]:
    """Return the names of the fields of a file that differ from a search. `root`: of its tree; None: chains."""
    generation = content["answer_generation"]
    ends = replay.answers or (replay.give_ups if root is not None else [])
    pairs: dict[str, tuple[Any, Any]] = {
        "query_count": (generation["query_count"], replay.count),
        "valid_data": (generation["valid_data"], bool(ends)),
        "final_answer": (generation["final_answer"], ends[0].text if ends else ""),
        "win": (content["win"], bool(replay.answers)),
        "compare_candidates": (len(content["compare_candidates"]), len(replay.answers)),
        "chain": (generation["chain"], []),
    }
    if root is None:
        pairs |= {
            "nodes": (
                [describe_written_chain(attempt["chain"]) for attempt in content["trys"]],
                [describe_chain(chain) for chain in replay.chains],
            ),
            "trys.win": ([attempt["win"] for attempt in content["trys"]], [False] * len(replay.chains)),
            "try_count": (content["try_count"], len(replay.chains)),
            "train_messages": (bool(generation["train_messages"]), bool(ends)),
            "finish_type": ("finish_type" in generation, False),
        }
    else:
        tree = content["tree"]
        finish_type = "give_up" if ends and not replay.answers else "give_answer"
        pairs |= {
            "nodes": (describe_written(tree["tree"]), describe_tree(root)),
            "size": ((tree["size"], tree["max_length"]), (size_of(root), height_of(root))),
            "train_messages": ("train_messages" in generation, bool(ends)),
            "finish_type": (generation["finish_type"], finish_type),
        }
    return [name for name, (written, expectation) in pairs.items() if written != expectation]
