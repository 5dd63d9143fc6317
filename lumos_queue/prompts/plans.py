"""Plans with numbered calls: `#E1 = function {"name": "value"}`, as ReWOO's planner writes them (arXiv:2305.18323).

Reading is total: lines that are no call are what the next call is for, or nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_CALL = re.compile(r"#E([0-9]{1,4})[ \t]*=[ \t]*([A-Za-z0-9_.-]{1,100})[ \t]*")
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
        """The calls whose results it uses."""
        return frozenset(f"#E{int(number)}" for number in _REFERENCE.findall(self.arguments))


def read_plan(text: str) -> tuple[PlannedCall, ...]:
    """The calls of a plan in its order; of those with the same number only the first."""
    text = text[:MAX_PLAN]
    calls: dict[str, PlannedCall] = {}
    begun, position = 0, 0
    while found := _CALL.search(text, position):
        arguments, position = _read_arguments(text, found.end())
        variable = f"#E{int(found[1])}"
        if variable not in calls:
            purpose = _PLAN.split(text[begun : found.start()])[-1].strip()
            raw = text[found.start() : position].strip()
            calls[variable] = PlannedCall(variable, purpose, found[2], arguments, raw)
        begun = position
    return tuple(calls.values())


def _read_arguments(text: str, start: int) -> tuple[str, int]:
    """The arguments that begin there, and where they end: a JSON object, bare or in brackets; else the line's rest."""
    opening = text[start : start + 1]
    inner = start + 1 if opening in _CLOSING else start
    if text[inner : inner + 1] == "{":
        try:
            _, end = _DECODER.raw_decode(text, inner)
            return text[inner:end], end + (opening in _CLOSING and text[end : end + 1] == _CLOSING[opening])
        except (ValueError, RecursionError):
            pass
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    rest = text[inner:end].strip()
    if opening in _CLOSING:
        rest = rest.removesuffix(_CLOSING[opening])
    return rest, end
