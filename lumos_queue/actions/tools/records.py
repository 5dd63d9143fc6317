"""Recorded answers of APIs, from a file of rows or from a task. This is an invented row:

    {"category": "Logistics", "tool": "suivi-colis", "api": "Latest", "arguments": {"colisid": "CA1"},
     "error": "", "response": {"status": "sent"}, "code": 0, "provenance": "recorded"}

Names have the spelling of the API's document or of ToolBench. `arguments` may be the JSON text of an object. `error`,
`code` and `provenance` are optional. If several rows have equal arguments, the first row answers the first such request
of an episode, the second row the second request, and so on; the last row answers all later requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.arguments import canonical, read_object
from lumos_queue.actions.tools.function_names import category_name, safe_name, standardize
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.statuses import status_of
from lumos_queue.errors import ActionError, BadRow, SpecError
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records as read_rows
from lumos_queue.util.sanitize import storable, storable_json
from lumos_queue.util.wording import format_bytes

FORMAT = "recorded answers: rows with 'category', 'tool', 'api', 'arguments' and 'response'"
FIELDS = ("api", "response")
MAX_BYTES = 2**29  #: of a file, which is loaded into memory
PROVENANCES = ("recorded", "simulated", "synthetic")  #: the allowed values of an entry


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded call."""

    names: tuple[str, str, str]  #: category, tool and API, in the record's spelling
    arguments: Mapping[str, Any]
    answer: Answer


class Records:
    """Recorded calls, by function and arguments."""

    def __init__(self, records: Iterable[Record] = ()):
        self._by_api: dict[tuple[str, str, str], list[Record]] = {}
        self._by_function: dict[Function, dict[str, list[Record]]] = {}
        for record in records:
            self._by_api.setdefault(record.names, []).append(record)

    def find(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        """Return the answer to the nth equal request, counted from 0; None if no equal request is recorded."""
        by_arguments = self._of(function)
        records = by_arguments.get(_key(arguments)) if by_arguments else None
        return records[min(nth, len(records) - 1)].answer if records else None

    def nearest(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        """Return the answer to the nearest request of the same API; None if no call of the API is recorded.

        The nearest request has the most arguments in common; of several, the fewest other arguments; of several, it is
        the earliest. If the request is not equal, the answer's message names it.
        """
        by_arguments = self._of(function)
        if not by_arguments:
            return None
        request_pairs = {(name, _key(value)) for name, value in arguments.items()}

        def distance(key: str) -> tuple[int, int]:
            record_pairs = {(name, _key(value)) for name, value in json.loads(key).items()}
            return -len(request_pairs & record_pairs), len(request_pairs ^ record_pairs)

        best = min(by_arguments, key=distance)  # the earliest among equal distances
        records = by_arguments[best]
        answer = records[min(nth, len(records) - 1)].answer
        if best == _key(arguments):
            return answer
        return replace(answer, message=f"the nearest recorded request was answered instead: {best[:400]}")

    def apis(self) -> list[tuple[str, str, str]]:
        """Return the different (category, tool, API) of the records, in the records' spelling."""
        return list(self._by_api)

    def examples(self, function: Function, limit: int) -> list[Record]:
        """Return up to `limit` recorded calls of the function's API with different arguments, the earliest first."""
        return [records[0] for records in list(self._of(function).values())[:limit]]

    def _of(self, function: Function) -> dict[str, list[Record]]:
        """Return a map from canonical arguments, as JSON text, to the recorded calls of a function's API."""
        if not self._by_api:
            return {}
        if (by_arguments := self._by_function.get(function)) is None:
            exact_names = (function.category, function.tool, function.api)
            standard_names = (category_name(function.category), standardize(function.tool), safe_name(function.api))
            by_arguments = self._by_function[function] = {}
            for names in dict.fromkeys((exact_names, standard_names)):
                for record in self._by_api.get(names, ()):
                    by_arguments.setdefault(_key(_canonical(function, record.arguments)), []).append(record)
        return by_arguments


def read_records(path: Path) -> Records:
    """Read the records of a file.

    Raises SpecError if the file is missing, too large or of another form, and for the first row that is no record.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {FORMAT}.") from error
    if size > MAX_BYTES:
        raise SpecError(
            f"'{path}' has {format_bytes(size)}, at most {format_bytes(MAX_BYTES)} are allowed: split it, "
            "or remove unused records."
        )
    records = []
    for row in read_rows(path, FORMAT, FIELDS):
        if isinstance(row, BadRow):
            raise SpecError(f"'{path}' is not {FORMAT}: {row}.")
        try:
            records.append(record_of(*row))
        except BadRow as bad:
            raise SpecError(f"'{path}' is not {FORMAT}: {bad}.") from None
    return Records(records)


def records_of(entries: Any) -> tuple[Records, int]:
    """Return the records of a task's entries, and the number of entries that are no records."""
    raw_entries = entries if isinstance(entries, (list, tuple)) else []
    records, bad = [], 0
    for row, entry in enumerate(raw_entries, start=1):
        try:
            records.append(record_of(row, entry))
        except BadRow:
            bad += 1
    return Records(records), bad


def record_of(row: int, entry: Any) -> Record:
    """Return the record of an entry. `row`: its number, for messages. Raises BadRow if it is no record."""
    node = RowNode(row, "", entry)
    names = (_name(node, "category"), _name(node, "tool"), node["api"].raw_text())
    response = storable_json(node.fields().get("response", ""))  # null is a valid answer
    answer = Answer(_optional(node, "error"), response, _code(node), _provenance(node))
    return Record(names, _arguments(node), answer)


def _name(node: RowNode, name: str) -> str:
    return _optional(node, name)


def _optional(node: RowNode, name: str) -> str:
    """Return the text of a field, '' if it is missing or null. Raises BadRow for another value."""
    value = node[name].value if name in node else None
    if value is not None and not isinstance(value, str):
        raise node[name].bad("expected text")
    return storable(value or "")[0]


def _code(node: RowNode) -> int | None:
    if "code" not in node:
        return None
    code = node["code"].whole()
    if status_of(code) is None:
        raise node["code"].bad(f"{code} is not the number of a status: expected 0 to 12")
    return code


def _provenance(node: RowNode) -> str:
    provenance = _optional(node, "provenance") or PROVENANCES[0]
    if provenance not in PROVENANCES:
        raise node["provenance"].bad(f"expected one of {', '.join(PROVENANCES)}")
    return provenance


def _arguments(node: RowNode) -> Mapping[str, Any]:
    value = node["arguments"].value if "arguments" in node else {}
    if isinstance(value, str):
        try:
            value = read_object(value)
        except ActionError as error:
            raise node["arguments"].bad(str(error)) from None
    if not isinstance(value, dict):
        raise node["arguments"].bad("expected an object")
    return storable_json(value)


def _canonical(function: Function, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments in canonical form; unchanged if they are invalid for the function."""
    try:
        return canonical(function, arguments)
    except ActionError:
        return arguments


_key = json.JSONEncoder(sort_keys=True).encode  # made once, not for each request
