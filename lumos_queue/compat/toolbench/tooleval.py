"""Write ToolEval's format: the query, the functions, and the path of a search that is judged, as a chain of nodes.

ToolBench's converter writes the same format. If an answer file has an end (an answer or a giving up), the thoughts that
come with calls are left out. If a file has none, ToolBench's converter samples a path and keeps all thoughts; this
module takes the last path of the search instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from lumos_queue.compat.toolbench.answer_file import FINISH, AnswerFile, final_path
from lumos_queue.compat.toolbench.messages import choose_function_name

Node = dict[str, Any]


def tooleval_of(file: AnswerFile) -> dict[str, Any]:
    """Return the object for an answer file. `total_steps` counts all nodes, also those of the system and the user.

    As in ToolBench's files, these two nodes have no message.
    """
    nodes = [_node("system", ""), _node("user", ""), *_nodes(file)]
    for node, next_node in pairwise(nodes):
        node["next"].append(next_node)
    return {
        "query": file.query,
        "available_tools": [dict(function) for function in file.functions],
        "answer": {
            "method": file.method,
            "total_steps": len(nodes),
            "final_answer": file.decisions[file.chosen].arguments if file.chosen is not None else "",
            "answer_details": nodes[:1],
        },
    }


def _nodes(file: AnswerFile) -> Iterator[Node]:
    has_end = file.chosen is not None
    for decision in final_path(file):
        if not decision.name or (decision.thought and not has_end):
            yield _node("assistant", decision.thought)
        if decision.name:
            response = "" if has_end and decision.name == FINISH else decision.observation
            name = choose_function_name(decision) if has_end else decision.name
            yield _node("tool", {"name": name, "arguments": decision.arguments, "response": response})


def _node(role: str, message: Any) -> Node:
    return {"role": role, "message": message, "next": []}
