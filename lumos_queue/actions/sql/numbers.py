"""The number that MySQL reads from a text."""

from __future__ import annotations

import re
from typing import Any

_BEGINNING = re.compile(r"\s*([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)")


def number_of(value: Any) -> Any:
    """Return the number at the start of a text, 0 without one. Values that are no texts are returned unchanged."""
    if not isinstance(value, str):
        return value
    match = _BEGINNING.match(value)
    number = float(match[1]) if match else 0.0
    return int(number) if abs(number) < 2**53 and number.is_integer() else number
