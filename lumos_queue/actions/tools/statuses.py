"""Statuses of tool calls, and ToolBench's numbers for them (spec/sum2act.md 3).

Nothing is guessed from the words of an answer: a body that speaks of errors is not one.
"""

from __future__ import annotations

#: Status to the number that stands for it. Two statuses have a second number, which is kept where it was recorded.
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
NOT_RECORDED = "not_recorded"  #: has no number
_STATUSES = {code: status for status, code in CODES.items()} | {ANSWERED: "ok", 8: "unauthorised", 10: "rate_limited"}
#: What a call outside can say (execution/tools/), in words of this list.
_OUTSIDE = {"http_error": "transport_error", "bad_reply": "transport_error", "too_large": "transport_error"}


def status_of(code: int) -> str | None:
    """The status that a number stands for; None where it stands for none."""
    return _STATUSES.get(code)


def code_of(status: str) -> int | None:
    """ToolBench's number of a status; None where it has none."""
    return CODES.get(status)


def status_of_answer(error: str, code: int | None = None) -> str:
    """The status of an answer: its number's where it has one, else 'tool_error' where its field `error` holds text."""
    code_status = None if code is None else status_of(code)
    return code_status or ("tool_error" if error.strip() else "ok")


def status_of_call(status: str) -> str:
    """The status of a call outside, in the words of tool agents."""
    return _OUTSIDE.get(status, status)
