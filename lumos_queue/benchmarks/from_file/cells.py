"""Read the cells of a user's file: texts, numbers and lists. Empty texts and NaN count as absent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

LARGEST_WHOLE = 2**53  #: limit of whole floats that are written without a point
MAX_SHOWN = 40  #: characters of a value in a message


def cell_of(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field; None if it is missing, an empty text, or NaN, which tables write for null."""
    value = record.get(name)
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def write_scalar(value: Any) -> str | None:
    """Return a text, a number or a bool as storable text; None for a list, an object and infinity.

    >>> from lumos_queue.benchmarks.from_file.cells import write_scalar
    >>> [write_scalar(value) for value in (" Paris ", 8.0, True, [1])]
    ['Paris', '8', 'true', None]
    """
    if isinstance(value, str):
        return storable(value)[0].strip()
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < LARGEST_WHOLE else repr(value)
    return None


def read_text(record: Mapping[str, Any], row: int, name: str) -> str:
    """Return a field's text or number as text. Raises BadRow if the field is missing, empty or of another type."""
    value = cell_of(record, name)
    if value is None:
        raise BadRow(row, name, "empty" if name in record else "missing")
    text = write_scalar(value)
    if text is None:
        raise BadRow(row, name, f"expected text, found {describe(value)}")
    return text


def read_list(value: Any) -> list[Any] | dict[str, Any] | None:
    """Return a list or an object, which may be JSON text in a cell of a table; None for any other value."""
    if isinstance(value, (list, dict)):
        return value
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            inner = read_json(value)
        except ValueError:
            return None
        return inner if isinstance(inner, (list, dict)) else None
    return None


def describe(value: Any) -> str:
    """Return a short description of a value for a message of one line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = storable(" ".join(str(value).split()))[0]
    return f"'{text[:MAX_SHOWN]}{'…' if len(text) > MAX_SHOWN else ''}'"
