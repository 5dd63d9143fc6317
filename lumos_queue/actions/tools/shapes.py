"""Read the shape of an API's answers in documents (`template_response`): an object whose values name types.

    {"count": "int", "parcels": [{"id": "str", "_list_length": 12}], "notes": "empty list",
     "tags": "list of str with length 3"}

A shape may also be a text: the JSON text of such an object, which may be truncated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lumos_queue.util.untrusted_json import read_json

MAX_TEXT = 100_000  #: characters of a shape that is a text
LIST_LENGTH = "_list_length"  #: the length of a list, as a field of its only element
#: A string, which may be cut off at the end of the text, or a mark.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


def read_shape(template: Any) -> Any:
    """Return the shape as a JSON value; None if it is missing or cannot be read."""
    if isinstance(template, str):
        template = _complete(template[:MAX_TEXT])
    return template if isinstance(template, (dict, list)) and template else None


def _complete(text: str) -> Any:
    """Return the JSON value of a text that may be truncated; None if there is none.

    The text is truncated after the last complete value, and open brackets are closed.
    """
    try:
        return read_json(text)
    except ValueError:
        pass
    cut = _last_whole(text)
    try:
        return read_json(text[:cut] + _closing_brackets(text[:cut]))
    except ValueError:
        return None


def _last_whole(text: str) -> int:
    """Return the last position at which a text can be truncated: after a bracket, or before a comma."""
    return max((position + (mark != ",") for position, mark in _marks(text)), default=0)


def _closing_brackets(text: str) -> str:
    """Return the closing brackets that are missing at the end of a text."""
    open_brackets: list[str] = []
    for _, mark in _marks(text):
        if mark in "[{":
            open_brackets.append("]" if mark == "[" else "}")
        elif mark in "]}" and open_brackets:
            open_brackets.pop()
    return "".join(reversed(open_brackets))


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Yield (position, character) of each bracket and comma outside of strings."""
    return ((match.start(), match[0]) for match in _MARK.finditer(text) if match[0][0] != '"')
