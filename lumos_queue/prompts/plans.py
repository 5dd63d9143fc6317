"""Read plans with numbered calls: `#E1 = function {"name": "value"}`, as by ReWOO's planner (arXiv:2305.18323).

Reading never raises. Lines without a call are the purpose of the next call, or are ignored. Since version 3 of the
formulations the Markdown of plans is read too (marked_calls.py), such as `**#E1:** function` with a code fence below.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from lumos_queue.text_calls.marked_calls import find_input
from lumos_queue.text_calls.three_lines import MARKED

_CALL = re.compile(r"#E([0-9]{1,4})[ \t]*=[ \t]*([A-Za-z0-9_.-]{1,100})[ \t]*")
_MARKS = r"[ \t]*+(?:(?:[-*+•>]|#{1,6}|[0-9]{1,3}[.)])[ \t]++){0,3}+[*_`]{0,3}+"
_MARKED_CALL = re.compile(
    rf"(?:^{_MARKS}#E(?P<first>[0-9]{{1,4}})[*_`]{{0,3}}+[ \t]*+[=:：]"
    r"|#E(?P<inner>[0-9]{1,4})[*_`]{0,3}+[ \t]*+=)"
    r"[*_]{0,3}+[ \t]*+[*_`]{0,3}+(?P<name>(?:[A-Za-z0-9.-]|\\?_){1,100})",
    re.MULTILINE,
)
_MARKED_PLAN = re.compile(r"Plan(?:[ \t]?#?[0-9]{1,3})?+[*_`]{0,3}+[ \t]*+[:：][*_]{0,3}+[ \t]*+", re.IGNORECASE)
_PURPOSE = re.compile(rf"{_MARKS}Plan\b|[ \t]*+[0-9]{{1,3}}[.)]", re.IGNORECASE)
_PLAN_MARKS = " \t\r\n`*_#"  #: around what a call is for
_PLAN = re.compile(r"Plan[ \t]*:[ \t]*", re.IGNORECASE)
_REFERENCE = re.compile(r"#E([0-9]{1,4})\b")
_DECODER = json.JSONDecoder(strict=False)
_CLOSING = {"[": "]", "(": ")"}
MAX_PLAN = 100_000  #: characters that are read


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a plan."""

    variable: str  #: '#E1'
    purpose: str  #: the words of its `Plan:` line
    name: str
    arguments: str
    raw: str

    @property
    def references(self) -> frozenset[str]:
        """The variables, such as `#E1`, of the calls whose results this call uses."""
        return frozenset(f"#E{int(number)}" for number in _REFERENCE.findall(self.arguments))


def read_plan(text: str, version: int = MARKED) -> tuple[PlannedCall, ...]:
    """Return the calls of a plan in order. Of several calls with the same number, the first counts.

    `version`: the formulation's version, which decides whether Markdown is read.
    """
    text = text[:MAX_PLAN]
    if version >= MARKED:
        return _read_marked_plan(text)
    calls: dict[str, PlannedCall] = {}
    first_line, position = 0, 0
    while match := _CALL.search(text, position):
        arguments, position = _read_arguments(text, match.end())
        variable = f"#E{int(match[1])}"
        if variable not in calls:
            purpose = _PLAN.split(text[first_line : match.start()])[-1].strip()
            raw = text[match.start() : position].strip()
            calls[variable] = PlannedCall(variable, purpose, match[2], arguments, raw)
        first_line = position
    return tuple(calls.values())


def _read_arguments(text: str, start: int) -> tuple[str, int]:
    """Return the arguments that begin at `start`, and their end: a JSON object, or else the rest of the line."""
    bracket = text[start : start + 1]
    inner = start + 1 if bracket in _CLOSING else start
    if text[inner : inner + 1] == "{":
        try:
            _, end = _DECODER.raw_decode(text, inner)
            return text[inner:end], end + (bracket in _CLOSING and text[end : end + 1] == _CLOSING[bracket])
        except (ValueError, RecursionError):
            pass
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    rest = text[inner:end].strip()
    if bracket in _CLOSING:
        rest = rest.removesuffix(_CLOSING[bracket])
    return rest, end


def _read_marked_plan(text: str) -> tuple[PlannedCall, ...]:
    calls: dict[str, PlannedCall] = {}
    first_line, position = 0, 0
    while match := _MARKED_CALL.search(text, position):
        arguments, position = _read_marked_arguments(text, match.end())
        variable = f"#E{int(match['first'] or match['inner'])}"
        if variable not in calls:
            purpose = _MARKED_PLAN.split(text[first_line : match.start()])[-1].strip(_PLAN_MARKS)
            raw = text[match.start() : position].strip()
            calls[variable] = PlannedCall(variable, purpose, match["name"].replace("\\_", "_"), arguments, raw)
        first_line = position
    return tuple(calls.values())


def _read_marked_arguments(text: str, start: int) -> tuple[str, int]:
    """Return the same as `_read_arguments`; the arguments may also be below the function's name."""
    line_end = _find_line_end(text, start)
    if match := find_input(text, start):
        begin, end, after = match
        if end > begin:
            return text[begin:end], after
        line_end = _find_line_end(text, begin)
        return text[begin:line_end].strip() or text[start:line_end].strip(), line_end
    if text[start:line_end].strip(_PLAN_MARKS):
        return _read_arguments(text, start)
    below_end = _find_line_end(text, line_end + 1)
    below = text[line_end + 1 : below_end]
    if below.lstrip().startswith("```"):
        next_call = _MARKED_CALL.search(text, below_end)
        block = text[line_end + 1 : next_call.start() if next_call else len(text)].strip()
        return (block, line_end + 1 + len(block)) if block.count("```") > 1 else ("", line_end)
    if not below.strip(_PLAN_MARKS) or _PURPOSE.match(below) or _MARKED_CALL.search(below):
        return "", line_end
    return below.strip(), below_end


def _find_line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
