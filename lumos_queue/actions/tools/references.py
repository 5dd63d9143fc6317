"""References of a plan's later call to an earlier one: `#E1` is the value it returned, `#E1.name` a part of that.

A call's body is `{"error": "", "response": …}`; a reference is to its response, so `#E1.orders[0].id` is a field of the
first order in it. A string that is a reference becomes the JSON value. A reference within a longer text becomes text:
a string as it is, another value as compact JSON. Values replace parsed JSON, so no answer can add an argument.
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
    """The values of references within the arguments of one call."""

    def __init__(self, variables: Mapping[str, Mapping[str, Any]]):
        self._variables = variables
        self._responses: dict[str, Any] = {}  # read once, however often they are used
        self._remaining_characters = MAX_FILLED

    def fill_in(self, value: Any) -> Any:
        """Return the JSON value with each reference in its texts replaced.

        Raises ActionError of kind 'invalid_arguments' for a reference without a value, and for too long values.
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
    """Whether a whole text is a reference."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value.strip()) is not None


def as_text(value: Any) -> str:
    """Return a string as it is, and another JSON value as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_response(name: str, value: Mapping[str, Any]) -> Any:
    """Read the response in a call's value, in full where a model got a part of it."""
    try:
        body = read_json(str(value.get("full", value.get("text", ""))))
    except ValueError as error:
        raise _invalid(f"what {name} returned cannot be used as JSON: {error}") from None
    return storable_json(body["response"] if isinstance(body, dict) and "response" in body else body)


def _step(value: Any, part: re.Match[str], path: str) -> Any:
    """Return a part of a value. `path`: the reference so far, for messages."""
    name, index = part[1], part[2]
    if name is not None and isinstance(value, dict) and name in value:
        return value[name]
    if index is not None and isinstance(value, list) and int(index) < len(value):
        return value[int(index)]
    raise _invalid(f"{path[:200]} has no part {part[0][:80]}: it is {_describe(value)}")


def _describe(value: Any) -> str:
    """Describe the parts of a value, for messages."""
    if isinstance(value, dict):
        names = ", ".join(f".{name[:40]}" for name in list(value)[:10])
        return f"an object with {names}{', …' if len(value) > 10 else ''}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value):,}"
    return "a text" if isinstance(value, str) else "a single value"


def _invalid(message: str) -> ActionError:
    return ActionError("invalid_arguments", message)
