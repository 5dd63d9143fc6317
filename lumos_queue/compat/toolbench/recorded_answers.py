"""Read the answers to calls of a recorded search as entries for `task.inputs["answers"]` (actions/tools/records.py).

An observation is the JSON text of an envelope with an error and a response, cut off at some length. The response of a
cut envelope is read up to the cut and closed there, so that it is later cut at the same position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from lumos_queue.actions.tools.answers import CUT
from lumos_queue.actions.tools.arguments import read_object
from lumos_queue.actions.tools.function_names import FINISH_NAME
from lumos_queue.actions.tools.functions import Function
from lumos_queue.compat.toolbench.cut_json import complete_json
from lumos_queue.compat.toolbench.messages import UNKNOWN_FUNCTION
from lumos_queue.compat.toolbench.trees import RecordedDecision
from lumos_queue.errors import ActionError

_BEGIN = '{"error": "'  #: of an envelope


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
    """Return the error and the response of an envelope that was cut; any other text is a response without error."""
    if not text.startswith(_BEGIN) or not text.endswith(CUT):
        return "", text
    try:
        envelope = json.loads(complete_json(text[: -len(CUT)]), strict=False)
    except (ValueError, RecursionError):
        return "", text
    error = envelope.pop("error")
    name, response = envelope.popitem() if envelope else ("", None)
    is_cut_name = response is None and "response".startswith(name)
    if not isinstance(error, str) or envelope or not (name == "response" or is_cut_name):
        return "", text
    return error, response if name == "response" else ""
