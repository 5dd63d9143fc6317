"""Read numbers in documents and from models: JSON numbers, or texts of a number."""

from __future__ import annotations

import math
import re
from typing import Any

MAX_DIGITS = 400  #: characters of the text of a number
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_SAME = 2**53  #: whole numbers up to here are the same as float


def read_number(value: Any) -> int | float | None:
    """Return the finite number of a value, a whole number as int; None if it is no number."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
            return None
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) <= _SAME else value
