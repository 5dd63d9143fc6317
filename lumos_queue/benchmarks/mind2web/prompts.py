"""Read Mind2Web steps from prompts: SkillGen's benchmark file, a JSON object whose `instances` are single steps.

    {"instances": [{"input": "… Task: Find a hat\\nWebsite: acme (Shopping / Hats)\\n\\nPrevious actions …",
                    "metadata": {"annotation_id": "1a", "action_idx": 3, "target_bnids": ["7"], "op": "CLICK",
                                 "value": ""}}]}

A prompt has the task, the previous actions, 30 candidates (the right candidate first, with truncated attributes) and
the first 8,000 characters of the page. The steps of each task are joined to a row of Mind2Web's own format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.fields import Node
from lumos_queue.readers.source import Row

INSTANCES = "instances"  #: the field of the file's object that has the steps
MAX_CANDIDATE = 5_000  #: characters of one candidate's line
#: The text before each part of a prompt, in order.
_MARKS = {
    "task": "\nTask: ",
    "website": "\nWebsite: ",
    "previous": "\n\nPrevious actions",
    "candidates": "\n\nAvailable candidate elements",
    "html": "\n```html\n",
}
_END = "\n```\n\nRespond"
_LIST_MARK = re.compile(r"^  [0-9]+\. ", re.MULTILINE)
_ELEMENT = re.compile(r'<(?P<tag>[^\s<>"]+) bnid="(?P<node>[0-9]+)"(?P<rest>.*)>', re.DOTALL)
_ATTRIBUTE = re.compile(r' ([\w:-]+)="')
_ATTRIBUTE_END = re.compile(r'"(?= [\w:-]+="|$)|\.\.\.$')


def prompt_rows(path: Path | None, document: Mapping[str, Any], description: str) -> Iterator[Row | BadRow]:
    """Yield a row for each task, in order of first appearance, numbered by task. Raises SpecError."""
    instances = document.get(INSTANCES)
    if not isinstance(instances, list) or not instances:
        raise SpecError(f"'{path}' has no row in 'instances'. Expected {description}.")
    by_task: dict[str, list[Node]] = {}
    bad: list[BadRow] = []
    for number, value in enumerate(instances, start=1):
        node = Node(number, f"instances[{number - 1}]", value)
        try:
            by_task.setdefault(node["metadata"]["annotation_id"].text(), []).append(node)
        except BadRow as error:
            bad.append(error)
    yield from bad
    for row, nodes in enumerate(by_task.values(), start=1):
        try:
            yield row, _record(nodes)
        except BadRow as error:
            yield error


def _record(nodes: list[Node]) -> Mapping[str, Any]:
    """Return the steps of a task as a row of Mind2Web's format."""
    steps = sorted(((node["metadata"]["action_idx"].whole(), node) for node in nodes), key=lambda step: step[0])
    prompts = [_read(node) for _, node in steps]
    return {
        "annotation_id": nodes[0]["metadata"]["annotation_id"].text(),
        "website": prompts[-1]["website"].partition("(")[0].strip(),
        "confirmed_task": prompts[-1]["task"],
        "action_reprs": [text for text in map(str.strip, _LIST_MARK.split(prompts[-1]["previous"])[1:]) if text],
        "actions": [_action(number, node, parts) for (number, node), parts in zip(steps, prompts, strict=True)],
    }


def _read(node: Node) -> dict[str, str]:
    """Return the parts of a prompt. Raises BadRow."""
    rest, parts, name = node["input"].text(verbatim=True), {}, ""
    for next_name, mark in _MARKS.items():
        part, separator, rest = rest.partition(mark)
        if not separator:
            raise node["input"].bad(f"not a prompt: it has no '{mark.strip()}'")
        parts[name], name = part, next_name
    parts["candidates"] = parts["candidates"].partition("\n\n")[0]
    return parts | {"html": rest.rpartition(_END)[0]}


def _action(number: int, node: Node, parts: Mapping[str, str]) -> dict[str, Any]:
    right = node["metadata"]["target_bnids"].texts()
    candidates = [_candidate(node, text.strip()) for text in _LIST_MARK.split(parts["candidates"])[1:]]
    return {
        "_step_index": number,
        "cleaned_html": parts["html"],
        "operation": {name: node["metadata"][name].value for name in ("op", "value")},
        "pos_candidates": [
            candidate for name in right for candidate in candidates if candidate["backend_node_id"] == name
        ],
        "neg_candidates": [candidate for candidate in candidates if candidate["backend_node_id"] not in right],
    }


def _candidate(node: Node, text: str) -> dict[str, Any]:
    match = _ELEMENT.fullmatch(text) if len(text) <= MAX_CANDIDATE else None
    if match is None:
        raise node["input"].bad(f"not a candidate: '{text[:80]}'")
    attributes = _read_attributes(match["rest"])
    return {"tag": match["tag"], "backend_node_id": match["node"], "attributes": attributes}


def _read_attributes(text: str) -> dict[str, str]:
    """Return a candidate's attributes, name to value. A value may contain quotes, and the last may be truncated."""
    attributes, position = {}, 0
    while begin := _ATTRIBUTE.search(text, position):
        end = _ATTRIBUTE_END.search(text, begin.end())
        if end is None:  # then no later attribute has an end either
            break
        attributes[begin[1]] = text[begin.end() : end.start()]
        position = end.end()
    return attributes
