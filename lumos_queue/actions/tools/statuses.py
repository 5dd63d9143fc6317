"""The statuses of tool calls, and ToolBench's numbers for them (spec/sum2act.md 3).

The text of an answer is not interpreted: an answer that only mentions errors is no failure.
"""

from __future__ import annotations

#: The number of each status. Two statuses have a second number, which stays where it was recorded.
CODES = {
    "ok": 0,
    "unknown_action": 1,
    "invalid_arguments": 2,
    "give_up": 4,
    "timeout": 5,
    "not_found": 6,
    "unauthorised": 7,
    "rate_limited": 9,
    "tool_error": 11,
    "transport_error": 12,
}
ANSWERED = 3  #: the number of a Finish that gives an answer; its status is 'ok'
NOT_RECORDED = "not_recorded"  #: a status without a number
_STATUSES = {code: status for status, code in CODES.items()} | {ANSWERED: "ok", 8: "unauthorised", 10: "rate_limited"}
#: Statuses of calls to other programs (execution/tools/) to statuses of this list.
_OUTSIDE = {"http_error": "transport_error", "bad_reply": "transport_error", "too_large": "transport_error"}


def status_of(code: int) -> str | None:
    """Return the status for one of ToolBench's numbers; None for an unknown number."""
    return _STATUSES.get(code)


def code_of(status: str) -> int | None:
    """Return ToolBench's number for a status; None if it has no number."""
    return CODES.get(status)


def status_of_answer(error: str, code: int | None = None) -> str:
    """Return the status of an answer: that of its number; without one, 'tool_error' if `error` has text, else 'ok'."""
    code_status = None if code is None else status_of(code)
    return code_status or ("tool_error" if error.strip() else "ok")


def status_of_call(status: str) -> str:
    """Return the status of a tool call for the status of a call to another program."""
    return _OUTSIDE.get(status, status)
