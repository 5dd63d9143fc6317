"""The shape of an API's answers, as documents give it (`template_response`): an object whose values name types.

    {"count": "int", "parcels": [{"id": "str", "_list_length": 12}], "notes": "empty list",
     "tags": "list of str with length 3"}

A shape may also be a text: the JSON of such an object, cut after a number of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lumos_queue.util.untrusted_json import read_json

MAX_TEXT = 100_000  #: characters of a shape that is a text
LIST_LENGTH = "_list_length"  #: how many items a list had, said within its one item
#: A string, the last of which may be cut off, or a mark.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},]', re.DOTALL)


def read_shape(template: Any) -> Any:
    """The shape as a JSON value; None where nothing is documented, or what is there cannot be read."""
    if isinstance(template, str):
        template = _complete(template[:MAX_TEXT])
    return template if isinstance(template, (dict, list)) and template else None


def _complete(text: str) -> Any:
    """The JSON value that a text begins with, without its last and incomplete part; None where there is none.

    The text is cut after the last whole value, and what is open there is closed.
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
    """The place after which a text can be closed: behind a bracket, or before a comma."""
    return max((position + (mark != ",") for position, mark in _marks(text)), default=0)


def _closing_brackets(text: str) -> str:
    """The brackets that close what is open at the end of a text."""
    open_brackets: list[str] = []
    for _, mark in _marks(text):
        if mark in "[{":
            open_brackets.append("]" if mark == "[" else "}")
        elif mark in "]}" and open_brackets:
            open_brackets.pop()
    return "".join(reversed(open_brackets))


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Brackets and commas outside of strings, with their places."""
    return ((match.start(), match[0]) for match in _MARK.finditer(text) if match[0][0] != '"')
