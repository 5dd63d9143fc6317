"""Answer requests to a virtual API server as an action session would, and count the results.

A server does not know a request's episode: if several answers are recorded for equal requests, it returns the first.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from lumos_queue.actions.tools.answer_source import NEAREST, STRICT, SYNTHETIC
from lumos_queue.actions.tools.answers import CUT, MAX_BODY, envelope
from lumos_queue.actions.tools.answers import Answer as Found
from lumos_queue.actions.tools.arguments import canonical, read_object
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.records import Records
from lumos_queue.actions.tools.synthetic import synthesize
from lumos_queue.errors import ActionError, SpecError, unknown
from lumos_queue.execution.serving.catalogue import Catalogue
from lumos_queue.records import Json, JsonObject
from lumos_queue.util.sanitize import storable_json

MODES = (STRICT, NEAREST, SYNTHETIC)  #: the modes of answer_source.py that need no model and no other server
NAMES = ("category", "tool_name", "api_name")


class BadRequest(Exception):
    """Raised for a refused request. It has the HTTP status of the reply, and a line that states what is expected."""

    def __init__(self, line: str, status: int = 400):
        super().__init__(line)
        self.status = status


@dataclass(slots=True)
class Statistics:
    """Numbers of requests by result; `requests` is the sum of all others."""

    requests: int = 0
    recorded: int = 0  #: answered with the record of an equal request
    nearest: int = 0  #: answered with the record of another request to the same API
    synthetic: int = 0
    misses: int = 0  #: no answer was available
    unknown: int = 0  #: the API is in no document and no record
    invalid: int = 0  #: the arguments do not fit the API's document
    refused: int = 0  #: not a request of this interface, or without the key: answered 4xx

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in asdict(self).items() if count or name == "requests")


class Answers:
    """Answers requests, and counts the results."""

    def __init__(self, mode: str, catalogue: Catalogue, records: Records):
        """Raises SpecError for a mode that is not in MODES, and for an empty catalogue."""
        if mode not in MODES:
            raise unknown("source of answers", mode, MODES)
        if not len(catalogue):
            raise SpecError("There is nothing to serve: give --records FILE, or --documents PATH --answers synthetic.")
        self.statistics = Statistics()
        self._mode, self._catalogue, self._records = mode, catalogue, records

    def reply(self, request: JsonObject) -> bytes:
        """Return the body of the reply: `{"error": …, "response": …}`. Raises BadRequest."""
        names = tuple(_text(request, name) for name in NAMES)
        arguments_text = _arguments(request.get("tool_input"))
        function = self._catalogue.find((names[0], names[1], names[2]))
        if function is None:
            return self._reply("unknown", Found(f"there is no API {' / '.join(name[:80] for name in names)}"))
        try:
            arguments = read_object(arguments_text)
            if self._catalogue.is_documented(function):
                arguments = canonical(function, storable_json(arguments))
        except ActionError as error:
            return self._reply("invalid", Found(str(error)))
        try:
            return self._reply(*self._find(function, storable_json(arguments)))
        except RecursionError:
            return self._reply("misses", Found("the document of this function is nested too deeply"))

    def _find(self, function: Function, arguments: JsonObject) -> tuple[str, Found]:
        """Return the name of the counter to increase, and the answer. Sources are searched as in answer_source.py."""
        if (answer := self._records.find(function, arguments)) is not None:
            return "recorded", answer
        if self._mode == SYNTHETIC:
            return "synthetic", synthesize(function, arguments)
        if self._mode == NEAREST and (answer := self._records.nearest(function, arguments)) is not None:
            return "nearest", answer
        return "misses", Found("no answer to this request is available")

    def _reply(self, counter: str, answer: Found) -> bytes:
        setattr(self.statistics, counter, getattr(self.statistics, counter) + 1)
        return _body(answer.error, answer.response).encode()


def _body(error: str, response: Json) -> str:
    """Return the JSON text of an answer. It is complete JSON even if a session would truncate it."""
    try:
        body = envelope(error, response)
    except (RecursionError, TypeError, ValueError) as problem:
        return envelope(f"the answer cannot be shown: {type(problem).__name__}", "")
    if len(body) <= MAX_BODY:
        return body
    text = response if isinstance(response, str) else json.dumps(storable_json(response), ensure_ascii=False)
    return envelope(error[:MAX_BODY], text[:MAX_BODY] + CUT)


def _text(request: JsonObject, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"'{name}' is missing or no text: expected the name of the {name.removesuffix('_name')}")
    return value


def _arguments(value: Json) -> str:
    """Return the arguments as JSON text. A request may send them as an object or as text. Raises BadRequest."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, dict):
        raise BadRequest("'tool_input' is neither an object nor the JSON text of one: expected the API's arguments")
    return json.dumps(value)
