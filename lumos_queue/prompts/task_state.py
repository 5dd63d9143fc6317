"""Sum2Act's state: what calls have found and which have failed, instead of a transcript (arXiv:2402.18157).

A record of each call is added and never changed. What is shown of them has a budget of characters: beyond it the
oldest answers are shown shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import json_repair

from lumos_queue.notation import without_roles
from lumos_queue.util.sanitize import storable

MAX_REPLY = 20_000  #: characters of a state manager's reply that are read
SHORT = 80  #: characters that are shown at least of each text of a record
UNREADABLE = "the record of it could not be read"


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What one call contributed, as the state manager says."""

    success: bool
    action: str
    arguments: str
    aim: str = ""
    text: str = ""  #: what was found, or why it failed
    summary: str = ""  #: of the text, where it was too long to be shown

    @property
    def shown(self) -> str:
        return self.summary or self.text


@dataclass(frozen=True, slots=True)
class TaskState:
    """The records so far, in order."""

    records: tuple[StateRecord, ...] = ()

    def add(self, record: StateRecord) -> TaskState:
        return replace(self, records=(*self.records, record))

    @property
    def results(self) -> tuple[StateRecord, ...]:
        return tuple(record for record in self.records if record.success)

    @property
    def failures(self) -> tuple[StateRecord, ...]:
        return tuple(record for record in self.records if not record.success)

    def write(self, budget: int) -> str:
        """The state as the router is shown it, in at most `budget` characters."""
        most = max((len(text) for record in self.records for text in _texts(record)), default=0)
        text = self._write(most)
        while len(text) > budget and most > SHORT:
            most = max(SHORT, most * 3 // 4)
            text = self._write(most)
        return text if len(text) <= budget else f"{text[: max(0, budget - 4)]} ..."

    def _write(self, most: int) -> str:
        answered = "\n".join(f"- {_short(one.aim, most)}" for one in self.results if one.aim)
        failed = "\n".join(f"- {_line(one, most)}" for one in self.failures)
        found = "\n".join(f"- {_line(one, most)}" for one in self.results)
        return (
            f"Already solved:\n{answered or 'nothing'}\nFailed calls:\n{failed or 'none'}\nResults:\n{found or 'none'}"
        )

    def as_json(self) -> dict[str, Any]:
        """For people and programs: what a router knew."""
        return {
            "results": [_as_json(one) for one in self.results],
            "failures": [_as_json(one) for one in self.failures],
        }


def read_record(text: str, action: str, arguments: str) -> StateRecord:
    """The record in a state manager's reply, about this call. One that cannot be read is a failure."""
    try:
        found = json_repair.loads(text[:MAX_REPLY], skip_json_loads=False)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list):  # some models put it in a list, or write it twice
        found = next((one for one in found if isinstance(one, dict)), None)
    status = _text(found.get("status", found.get("Action status"))).lower() if isinstance(found, dict) else ""
    if not isinstance(found, dict) or not status.startswith(("success", "fail")):
        return StateRecord(False, action, arguments, text=UNREADABLE)
    success = status.startswith("success")
    told = found.get("answer", found.get("Answer")) if success else found.get("reason", found.get("Fail Reason"))
    return StateRecord(success, action, arguments, _text(found.get("aim", found.get("Aim of action"))), _text(told))


def _text(value: Any) -> str:
    return storable("" if value is None else value if isinstance(value, str) else str(value))[0].strip()


def _texts(record: StateRecord) -> Iterator[str]:
    yield from (record.aim, record.shown, record.arguments)


def _short(text: str, most: int) -> str:
    text = without_roles(" ".join(text.split()))
    return text if len(text) <= most else f"{text[:most]}..."


def _line(record: StateRecord, most: int) -> str:
    return f"{record.action} {_short(record.arguments, most)}: {_short(record.shown, most)}"


def _as_json(record: StateRecord) -> dict[str, Any]:
    found = {"action": record.action, "arguments": record.arguments, "aim": record.aim, "text": record.text}
    return found | ({"summary": record.summary} if record.summary else {})
