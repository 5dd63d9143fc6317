"""Decode the JSON of data files. Infinite numbers are refused. NaN, which table libraries write for null, is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.source import MAX_COLUMNS, describe_object, shorten
from lumos_queue.util.untrusted_json import MAX_DEPTH, check_depth

_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class RowDecoder:
    """Decodes the JSON values of one file, and converts them to rows."""

    def __init__(self) -> None:
        self._has_infinity = False  # whether a value since the last row is infinite
        self._decoder = json.JSONDecoder(parse_float=self._read_float, parse_constant=self._read_constant)

    def decode(self, text: str) -> Any:
        """Return the value of a JSON text. Raises ValueError for other text, and for values nested too deeply."""
        try:
            value = self._decoder.decode(text)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        check_depth(value, text)
        return value

    def decode_at(self, text: str, position: int) -> tuple[Any, int]:
        """Return the value that begins at `position`, and its end. Raises ValueError in the same cases as `decode`."""
        try:
            value, end = self._decoder.raw_decode(text, position)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        check_depth(value, text, position, end)
        return value, end

    def make_row(self, number: int, value: Any, field: str = "row") -> tuple[int, Mapping[str, Any]] | BadRow:
        """Return (number, object) for an object; a BadRow for another type, infinite numbers or too many fields."""
        infinite, self._has_infinity = self._has_infinity, False
        if not isinstance(value, dict):
            return BadRow(number, field, describe_object(value))
        if len(value) > MAX_COLUMNS:
            return BadRow(number, field, f"{len(value):,} fields, and at most {MAX_COLUMNS:,} are read")
        if infinite and (names := [name for name, part in value.items() if _is_infinite(part)]):
            return BadRow(number, shorten(names[0]), "an infinite number, which is no JSON")
        return number, value

    def _read_float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self._has_infinity = True
        return value

    def _read_constant(self, name: str) -> float | None:
        if name == "NaN":
            return None
        self._has_infinity = True
        return float(name)


def _is_infinite(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_infinite, value.values()))
    if isinstance(value, list):
        return any(map(_is_infinite, value))
    return isinstance(value, float) and math.isinf(value)
