"""What the oracle writes as Sum2Act's state manager, in each of its tasks, from what it reads in its prompt alone.

It records what a call contributed, writes the whole state anew with it (`update=rewrite`), or divides the request into
the steps that lead to its parts (`decompose=yes`). A summary of a long answer it does not write: its own are short.
"""

from __future__ import annotations

import json
import re
from typing import Any

from experiments.tool_agents.reading import value_in
from experiments.toolworld.reading import WorldView
from lumos_queue.actions.tools.world import ANSWERS
from lumos_queue.benchmarks.toolworld.catalogue import read_description
from lumos_queue.prompts.tool_agent import DECOMPOSER, STATE_MANAGER, STATE_REWRITER, SYSTEM

ENTITY = re.compile(r"\b[A-Z]{2}-[0-9]{3,5}\b")
MANAGES = tuple(f"{SYSTEM}{head}" for head in (STATE_MANAGER, STATE_REWRITER, DECOMPOSER))
_RETURNED = re.compile(r"\nFunction: (.*)\n\nReturned: (.*?)(?=\n<\||\Z)", re.DOTALL)
_CALL = re.compile(r"\n(?:Call|Newest call): (.*)")
_NUMBERED = re.compile(r'^\{"call": [0-9]+, .*\}$', re.MULTILINE)
_NEWEST = re.compile(r"^The newest call has the number ([0-9]+)\.$", re.MULTILINE)


def manage(prompt: str) -> str:
    """The state manager's reply."""
    if prompt.startswith(SYSTEM + DECOMPOSER):
        return divide_request(prompt)
    if prompt.startswith(SYSTEM + STATE_REWRITER):
        return rewrite_state(prompt)
    return json.dumps(read_call(prompt))


def can_manage(prompt: str) -> bool:
    """Whether the oracle knows what to write: of a call its function and what it returned are to be in sight."""
    return prompt.startswith(SYSTEM + DECOMPOSER) or _RETURNED.search(prompt) is not None


def read_call(prompt: str) -> dict[str, str]:
    """The record of the prompt's call: a success, where the value is there that the function is for."""
    call_match, match = _CALL.search(prompt), _RETURNED.search(prompt)
    read = read_description(match[1]) if match else None
    returned_text = match[2] if match else ""
    kind, of, gives = read or ("", "", "")
    value, argument = (
        value_in(returned_text, gives) if gives else None,
        ENTITY.search(call_match[1] if call_match else ""),
    )
    aim = f"find the {gives} of {argument[0] if argument else 'an id'}"
    if kind == ANSWERS and value and argument and value_in(returned_text, of) == argument[0]:
        return {"status": "success", "aim": aim, "answer": f"{of}: {argument[0]}, {gives}: {value}"}
    error = re.search(r'^\{"error": "(.+?)", "response"', returned_text)
    reason = error[1] if error else "it says nothing of what was asked for"
    return {"status": "failure", "aim": aim, "reason": reason}


def rewrite_state(prompt: str) -> str:
    """The state anew: what is said of earlier calls stays, and the newest one is added."""
    before = prompt.partition("\n\nNewest call: ")[0]
    records: list[dict[str, Any]] = [json.loads(line) for line in _NUMBERED.findall(before)]
    newest = _NEWEST.search(prompt)
    records.append({"call": int(newest[1]) if newest else len(records) + 1, **read_call(prompt)})
    state: dict[str, list[dict[str, Any]]] = {"results": [], "failures": []}
    for record in records:
        section, field = ("results", "answer") if record["status"] == "success" else ("failures", "reason")
        state[section].append({"call": record["call"], "aim": record["aim"], field: record[field]})
    return json.dumps(state)


def divide_request(prompt: str) -> str:
    """A line for each call that a part of the request needs: `1. Find the depot of the shipment SH-48213.`"""
    lines = []
    for part in WorldView(prompt).parts:
        thing = f"the {part.kind} {part.start}"
        for gives in part.gives:
            lines.append(f"Find the {gives} of {thing}.")
            thing = f"that {gives}"
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
