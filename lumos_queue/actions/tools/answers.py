"""What an API answers: an error and a response; as a call keeps it, and as a model is shown it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.actions.tools.statuses import code_of, status_of_answer, status_of_call
from lumos_queue.records import Execution
from lumos_queue.util.sanitize import storable, storable_json

MAX_BODY = 200_000  #: characters of a body that are kept
SHOWN = 1_024  #: characters of a body that a model is shown, where nothing else is said
MAX_MESSAGE = 1_000  #: characters of what people are told
CUT = "..."  #: what follows a body that was cut, as in ToolBench
_write_json = json.JSONEncoder(ensure_ascii=False).encode  # made once, not for each answer


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call. The status is that of its code, else of its error (statuses.py)."""

    error: str = ""
    response: Any = ""  #: JSON
    code: int | None = None
    provenance: str = ""  #: recorded, simulated, synthetic
    message: str = ""  #: for people
    status: str = ""  #: where neither code nor error tell it

    def execution(self) -> Execution:
        """As the call is recorded: the whole body, as far as it is kept."""
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
    """The JSON text of an answer. Raises RecursionError, TypeError and ValueError for what is no JSON value."""
    return _write_json(storable_json({"error": error, "response": response}))


def observe(body: str, code: int | None, limit: int) -> tuple[str, dict[str, Any]]:
    """What a model is shown of a body, at most `limit` characters and CUT; and the value that keeps both."""
    body = storable(body)[0]
    if len(body) <= limit:
        return body, {"kind": "observation", "text": body, "code": code}
    preview = body[:limit] + CUT
    return preview, {"kind": "observation", "text": preview, "code": code, "full": body, "truncated": True}


def body_of(execution: Execution) -> tuple[str, int | None]:
    """The body of a call's execution and its code; of a call that brought none, what is known of the reason."""
    value: Mapping[str, Any] = execution.values[0] if execution.values else {}
    body, code = value.get("text"), value.get("code", code_of(status_of_call(execution.status)))
    if not isinstance(body, str):
        body = envelope(execution.message or execution.status, execution.result)
    return body, code if isinstance(code, int) else None
