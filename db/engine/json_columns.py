"""Read columns of JSON without exceptions, because an exception for one row would fail the whole query."""

from __future__ import annotations

import json
from typing import TypeGuard


class UnreadableJson:
    """The value of a column whose text is not JSON. Code that uses this value fails for this row only."""

    def __init__(self, problem: str):
        self.problem = problem


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a JSON value is an object, whose keys are always texts."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def read_json(text: str | bytes) -> object:
    """Return the value of a column of JSON, or UnreadableJson."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        return UnreadableJson("nested too deeply" if isinstance(error, RecursionError) else "not JSON")
