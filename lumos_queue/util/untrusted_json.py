"""JSON that others wrote. Whatever cannot be read is a ValueError."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 100  #: of nested lists and objects: code that walks through values recurses once for each


def read_json(data: str | bytes, strict: bool = True) -> Any:
    """The value. Raises ValueError for what is not JSON, nested too deeply, or holds a number of too many digits.

    Where it is not `strict`, strings may have control characters such as line breaks in them.
    """
    try:
        value = json.loads(data) if strict else json.loads(data, strict=False)  # the first has a decoder already
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    if isinstance(data, str) and data.count("{") + data.count("[") <= MAX_DEPTH:
        return value
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [part for parts in inner for part in parts if isinstance(part, (dict, list))]
        if not level:
            return value
    raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
