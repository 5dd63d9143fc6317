"""Answers of APIs: an error and a response. They have a form that is stored, and a form that is sent to a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.actions.tools.statuses import code_of, status_of_answer, status_of_call
from lumos_queue.records import Execution
from lumos_queue.util.sanitize import storable, storable_json

MAX_BODY = 200_000  #: characters of a body that are stored
SHOWN = 1_024  #: characters of a body that a model gets by default
MAX_MESSAGE = 1_000  #: characters of the message for people
CUT = "..."  #: the end of a truncated body, as in ToolBench
_write_json = json.JSONEncoder(ensure_ascii=False).encode  # made once, not for each answer


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call. `status`, the code or the error determines the status (statuses.py)."""

    error: str = ""
    response: Any = ""  #: JSON
    code: int | None = None
    provenance: str = ""  #: recorded, simulated, synthetic
    message: str = ""  #: for people
    status: str = ""  #: where it follows from neither code nor error

    def execution(self) -> Execution:
        """Return the execution that records the call. Its body has at most MAX_BODY characters."""
        status, message = self.status or status_of_answer(self.error, self.code), self.message
        try:
            body = envelope(self.error, self.response)
        except (RecursionError, TypeError, ValueError) as error:
            status, message = "tool_error", f"the answer cannot be shown: {type(error).__name__}"
            body = envelope(message, "")
        code = code_of(status) if self.code is None else self.code
        value = {"kind": "response", "text": body[:MAX_BODY], "code": code}
        if not message and status != "ok":
            message = self.error
        message = storable(message)[0][:MAX_MESSAGE]
        return Execution(status, body[:SHOWN], (value,), message, provenance=self.provenance)


def envelope(error: str, response: Any) -> str:
    """Return the JSON text of an answer. Raises RecursionError, TypeError or ValueError if it cannot be JSON."""
    return _write_json(storable_json({"error": error, "response": response}))


def observe(body: str, code: int | None, limit: int) -> tuple[str, dict[str, Any]]:
    """Return the text of a body for a model, and the value that stores text and body.

    The text has at most `limit` characters, and ends in CUT if the body is longer.
    """
    body = storable(body)[0]
    preview = truncate(body, limit)
    if preview == body:
        return body, {"kind": "observation", "text": body, "code": code}
    return preview, {"kind": "observation", "text": preview, "code": code, "full": body, "truncated": True}


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, then CUT if it is longer."""
    return text if len(text) <= limit else text[:limit] + CUT


def body_of(execution: Execution) -> tuple[str, int | None]:
    """Return the body and the code of a call's execution. If there is no body, it is made from the failure's reason."""
    value: Mapping[str, Any] = execution.values[0] if execution.values else {}
    body, code = value.get("text"), value.get("code", code_of(status_of_call(execution.status)))
    if not isinstance(body, str):
        body = envelope(execution.message or execution.status, execution.result)
    return body, code if isinstance(code, int) else None
