"""Sum2Act's state: the results and the failures of calls, instead of a transcript (arXiv:2402.18157).

The state has a record of each call, in the order of the calls. A record never changes, unless the state manager may
rewrite the state: then it may change the texts of records, but not the list of calls. The state as text has a budget of
characters, beyond which its long texts are shortened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.actions.tools.numbers import read_number
from lumos_queue.notation import without_roles
from lumos_queue.util.repaired_json import read_repaired_json
from lumos_queue.util.sanitize import storable

MAX_REPLY = 20_000  #: characters of a state manager's reply that are read
SHORT = 80  #: characters that are shown at least of each text of a record
APPEND, REWRITE = "append", "rewrite"  #: how a call changes the state
UNREADABLE = "the record of it could not be read"


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What a call contributed to the task, as the state manager describes it."""

    success: bool
    action: str
    arguments: str
    aim: str = ""
    text: str = ""  #: what was found, or why it failed
    summary: str = ""  #: of the text, where it was too long to be shown
    unmade: bool = False  #: whether the call was refused before a function could answer: it never becomes a success

    @property
    def shown_text(self) -> str:
        return self.summary or self.text


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task: the records of its calls in order."""

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
        """Return the state as text for the router, in at most `budget` characters."""
        limit = max((len(text) for record in self.records for text in _texts(record)), default=0)
        text = self._write(limit)
        while len(text) > budget and limit > SHORT:
            limit = max(SHORT, limit * 3 // 4)
            text = self._write(limit)
        return text if len(text) <= budget else f"{text[: max(0, budget - 4)]} ..."

    def write_numbered(self, budget: int) -> str:
        """Return the records for a state manager that may rewrite them: numbered, as a JSON object on each line.

        `budget`: the characters of all their texts. If they have more, long texts are shortened, but not below SHORT.
        """
        limit = max((len(text) for record in self.records for text in _texts(record)), default=0)
        while (
            limit > SHORT and sum(min(len(text), limit) for record in self.records for text in _texts(record)) > budget
        ):
            limit = max(SHORT, limit * 3 // 4)
        return "\n".join(_as_line(number, record, limit) for number, record in enumerate(self.records, start=1))

    def _write(self, limit: int) -> str:
        aims = "\n".join(f"- {_short(record.aim, limit)}" for record in self.results if record.aim)
        failures = "\n".join(f"- {_line(record, limit)}" for record in self.failures)
        results = "\n".join(f"- {_line(record, limit)}" for record in self.results)
        return (
            f"Already solved:\n{aims or 'nothing'}\nFailed calls:\n{failures or 'none'}\nResults:\n{results or 'none'}"
        )


def read_record(text: str, action: str, arguments: str, problem: str = "") -> StateRecord:
    """Read the record of a call from `text`, a state manager's reply. An unreadable reply becomes a failure.

    `problem`: why the call was not made; '' if it was. Such a call is a failure whatever the reply is, and the problem
    is its text unless the reply has a reason.
    """
    blank = _write_blank(action, arguments, problem)
    reply = _read_reply(text)
    if isinstance(reply, list):  # some models put it in a list, or write it twice
        reply = next((part for part in reply if isinstance(part, dict)), None)
    status = _text(reply.get("status", reply.get("Action status"))).lower() if isinstance(reply, dict) else ""
    if not isinstance(reply, dict) or not status.startswith(("success", "fail")):
        return blank
    return _read_texts(reply, status.startswith("success"), blank)


def rewrite(state: TaskState, text: str, action: str, arguments: str, problem: str = "") -> TaskState:
    """Return the state that `text`, a state manager's reply, writes from `state` and the latest call. The reply is:

        {"results": [{"call": 1, "aim": "…", "answer": "…"}], "failures": [{"call": 2, "aim": "…", "reason": "…"}]}

    The function never raises and loses no record. Calls that the reply omits or names twice keep their record, the
    latest call becomes a failure if the reply omits it, and unknown calls are ignored. `problem`: as of `read_record`.
    """
    records = [*state.records, _write_blank(action, arguments, problem)]
    records_by_number: dict[int, list[StateRecord]] = {}
    for success, fields in _entries(_read_reply(text)):
        number = read_number(fields.get("call"))
        if isinstance(number, int) and 0 < number <= len(records):
            record = _read_texts(fields, success, records[number - 1])
            records_by_number.setdefault(number, []).append(record)
    for number, stated_records in records_by_number.items():
        if len(stated_records) == 1:
            records[number - 1] = stated_records[0]
    return TaskState(tuple(records))


def _entries(reply: Any) -> Iterator[tuple[bool, Mapping[str, Any]]]:
    """Yield each entry of a rewritten state, with whether it is a success."""
    for success, key in ((True, "results"), (False, "failures")):
        members = reply.get(key) if isinstance(reply, dict) else None
        yield from (
            (success, member) for member in (members if isinstance(members, list) else ()) if isinstance(member, dict)
        )


def _read_reply(text: str) -> Any:
    """Return the JSON value in a reply, repaired if necessary; None if there is no such value."""
    try:
        return read_repaired_json(text[:MAX_REPLY])
    except ValueError:
        return None


def _write_blank(action: str, arguments: str, problem: str) -> StateRecord:
    """Return the record of a call of which no reply was read."""
    return StateRecord(False, action, arguments, text=problem or UNREADABLE, unmade=bool(problem))


def _read_texts(fields: Mapping[str, Any], success: bool, old: StateRecord) -> StateRecord:
    """Return the record of the call of `old` with the texts in `fields`. A call that was not made stays a failure."""
    answer = fields.get("answer", fields.get("Answer")) if success else fields.get("reason", fields.get("Fail Reason"))
    aim, text = _text(fields.get("aim", fields.get("Aim of action"))), _text(answer)
    if old.unmade and (success or not text):
        return old
    return StateRecord(success, old.action, old.arguments, aim, text, unmade=old.unmade)


def _text(value: Any) -> str:
    return storable("" if value is None else value if isinstance(value, str) else str(value))[0].strip()


def _texts(record: StateRecord) -> Iterator[str]:
    yield from (record.aim, record.shown_text, record.arguments)


def _short(text: str, limit: int) -> str:
    text = without_roles(" ".join(text.split()))
    return text if len(text) <= limit else f"{text[:limit]}..."


def _line(record: StateRecord, limit: int) -> str:
    return f"{record.action} {_short(record.arguments, limit)}: {_short(record.shown_text, limit)}"


def _as_line(number: int, record: StateRecord, limit: int) -> str:
    fields = {"call": number, "function": record.action, "arguments": _short(record.arguments, limit)}
    fields |= {"status": "success" if record.success else "failure", "aim": _short(record.aim, limit)}
    fields["answer" if record.success else "reason"] = _short(record.shown_text, limit)
    return json.dumps(fields, ensure_ascii=False)
