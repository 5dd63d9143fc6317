"""Read the answers to calls of a recorded search as entries for `task.inputs["answers"]` (actions/tools/records.py).

An observation is the JSON text of an envelope with an error and a response, cut off at some length. The response of a
cut envelope is read up to the cut and its length stays, so that it is later cut at the same position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lumos_queue.actions.tools.answers import CUT
from lumos_queue.actions.tools.arguments import read_object
from lumos_queue.actions.tools.function_names import FINISH_NAME
from lumos_queue.actions.tools.functions import Function
from lumos_queue.compat.toolbench.messages import UNKNOWN_FUNCTION
from lumos_queue.compat.toolbench.trees import RecordedDecision
from lumos_queue.errors import ActionError

_BEGIN = re.compile(r'\{"error": "((?:[^"\\]|\\.)*)", "response": "', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")


def answers_of(decisions: Iterable[RecordedDecision], functions: Sequence[Function]) -> list[dict[str, Any]]:
    """Return an entry for each call of a known function, in the order of the search. Equal calls have an entry each."""
    functions_by_name = {function.name: function for function in functions}
    answers = []
    for decision in decisions:
        function = functions_by_name.get(decision.name)
        if function is None or decision.name == FINISH_NAME or decision.code == UNKNOWN_FUNCTION:
            continue
        try:
            arguments = read_object(decision.arguments)
        except ActionError:
            continue  # such a call is refused before a request is made
        error, response = read_observation(decision.observation)
        names = {"category": function.category, "tool": function.tool, "api": function.api}
        answer_fields = {"error": error, "response": response, "code": decision.code, "provenance": "recorded"}
        answers.append({**names, "arguments": arguments, **answer_fields})
    return answers


def read_observation(text: str) -> tuple[str, Any]:
    """Return the error and the response of an envelope. Any other text is a response without error."""
    try:
        envelope = json.loads(text)
    except (ValueError, RecursionError):
        return _read_cut(text)
    if isinstance(envelope, dict) and isinstance(envelope.get("error"), str) and "response" in envelope:
        return envelope["error"], envelope["response"]
    return "", text


def _read_cut(text: str) -> tuple[str, Any]:
    match = _BEGIN.match(text)
    if match is None or not text.endswith(CUT):
        return "", text
    rest = text[match.end() : -len(CUT)]
    half = _HALF_ESCAPE.search(rest)
    if half and not (len(rest[: half.start()]) - len(rest[: half.start()].rstrip("\\"))) % 2:
        rest = rest[: half.start()]
    try:
        return json.loads(f'"{match[1]}"'), json.loads(f'"{rest}"', strict=False)
    except (ValueError, RecursionError):
        return "", text
