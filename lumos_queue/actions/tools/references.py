"""Replace references to earlier calls of a plan: `#E1` is the value that call 1 returned, `#E1.name` a part of it.

A call's body is `{"error": "", "response": …}`, and a reference means the response: `#E1.orders[0].id` is a field of
the response's first order. A string that is only a reference becomes the JSON value. A reference within a longer text
becomes text: a string unchanged, another value as compact JSON. The arguments are parsed before references are
replaced, so that no answer can add an argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lumos_queue.errors import ActionError
from lumos_queue.util.sanitize import storable_json
from lumos_queue.util.untrusted_json import read_json

MAX_FILLED = 20_000  #: characters of the values of all references of one call
_REFERENCE = re.compile(r"#E([0-9]{1,4})((?:\.[^\W\d][\w-]*|\[[0-9]{1,6}\])*)(?!\w)")
_PART = re.compile(r"\.([^\W\d][\w-]*)|\[([0-9]+)\]")


class References:
    """Replaces the references in the arguments of one call."""

    def __init__(self, variables: Mapping[str, Mapping[str, Any]]):
        self._variables = variables
        self._responses: dict[str, Any] = {}  # read once, however often they are used
        self._remaining_characters = MAX_FILLED

    def fill_in(self, value: Any) -> Any:
        """Return a JSON value with each reference in its texts replaced.

        Raises ActionError of kind 'invalid_arguments' for a reference without a value, and if values are too long.
        """
        if isinstance(value, str):
            whole = _REFERENCE.fullmatch(value.strip())
            return self._value(whole) if whole else _REFERENCE.sub(self._text, value)
        if isinstance(value, dict):
            return {name: self.fill_in(part) for name, part in value.items()}
        return [self.fill_in(part) for part in value] if isinstance(value, list) else value

    def _text(self, match: re.Match[str]) -> str:
        return as_text(self._value(match))

    def _value(self, match: re.Match[str]) -> Any:
        name = f"#E{int(match[1])}"
        value, path = self._response(name), name
        for part in _PART.finditer(match[2]):
            value, path = _step(value, part, path), path + part[0]
        self._remaining_characters -= len(as_text(value))
        if self._remaining_characters < 0:
            raise _invalid(f"{match[0][:80]} is too long: all references of a call may have {MAX_FILLED:,} characters")
        return value

    def _response(self, name: str) -> Any:
        if name not in self._variables:
            raise _invalid(f"{name} has no value: no call of that number has returned anything before this one")
        if name not in self._responses:
            self._responses[name] = _read_response(name, self._variables[name])
        return self._responses[name]


def is_reference(value: Any) -> bool:
    """Return whether a value is a text that consists of one reference."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value.strip()) is not None


def as_text(value: Any) -> str:
    """Return a string unchanged, and another JSON value as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_response(name: str, value: Mapping[str, Any]) -> Any:
    """Return the whole response in a call's value, even if it was truncated for the model. Raises ActionError."""
    try:
        body = read_json(str(value.get("full", value.get("text", ""))))
    except ValueError as error:
        raise _invalid(f"what {name} returned cannot be used as JSON: {error}") from None
    return storable_json(body["response"] if isinstance(body, dict) and "response" in body else body)


def _step(value: Any, part: re.Match[str], path: str) -> Any:
    """Return the part of a value that a step of a reference names. `path`: the steps before, for messages."""
    name, index = part[1], part[2]
    if name is not None and isinstance(value, dict) and name in value:
        return value[name]
    if index is not None and isinstance(value, list) and int(index) < len(value):
        return value[int(index)]
    raise _invalid(f"{path[:200]} has no part {part[0][:80]}: it is {_describe(value)}")


def _describe(value: Any) -> str:
    """Return a description of a value's parts, for messages."""
    if isinstance(value, dict):
        names = ", ".join(f".{name[:40]}" for name in list(value)[:10])
        return f"an object with {names}{', …' if len(value) > 10 else ''}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return "a text" if isinstance(value, str) else "a single value"


def _invalid(message: str) -> ActionError:
    return ActionError("invalid_arguments", message)
