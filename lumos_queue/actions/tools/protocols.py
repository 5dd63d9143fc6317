"""The protocols of ReAct and DFSDT: how Finish is read, and what a model is sent after its reply (decision 0058).

`tolerant` reads Finish in many forms, answers a reply without a call, and shows observations as they are. `toolbench`
does as ToolBench's environment: finish.py reads Finish, such a reply is not answered, and observations have escapes.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from lumos_queue.actions.tools.answers import truncate
from lumos_queue.records import Execution

PROTOCOL = "protocol"  #: the name of the setting
TOLERANT, TOOLBENCH = "tolerant", "toolbench"
_ESCAPED = re.compile("[^\x00-\x7e]")  #: the characters that json.dumps escapes, besides those of every JSON text


def escape_observation(execution: Execution, limit: int) -> Execution:
    """Return the execution of a call with the text for the model as ToolBench writes it.

    All characters outside ASCII are escapes, and the text is then cut to `limit` characters. The value keeps the text
    without escapes as `full`, where it differs. An answer of Finish does not change.
    """
    value = execution.values[0]
    if value["kind"] != "observation":
        return execution
    body = value.get("full", value["text"])
    escaped_body = _ESCAPED.sub(_escape, body)
    preview = truncate(escaped_body, limit)
    if preview == body:
        return execution
    fields = {**value, "text": preview, "full": body}
    if len(escaped_body) > limit:
        fields["truncated"] = True
    return replace(execution, result=preview, values=(fields, *execution.values[1:]))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]
