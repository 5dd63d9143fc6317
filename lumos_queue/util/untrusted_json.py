"""Read untrusted JSON. All problems are ValueErrors."""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 100  #: of nested lists and objects, as code that walks through values recurses once for each level


def read_json(data: str | bytes, strict: bool = True) -> Any:
    """Return the value. Raises ValueError for invalid JSON, too deep nesting, and a number of too many digits.

    If `strict` is False, strings may contain control characters such as line breaks.
    """
    try:
        value = json.loads(data) if strict else json.loads(data, strict=False)  # the former uses the module's decoder
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    check_depth(value, data)
    return value


def check_depth(value: Any, data: str | bytes, start: int = 0, end: int | None = None) -> None:
    """Raise ValueError for a value that is nested too deeply. Its JSON is `data` from `start` to `end`."""
    if isinstance(data, str) and data.count("{", start, end) + data.count("[", start, end) <= MAX_DEPTH:
        return
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        contents = (
            item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))
        )
        level = [part for parts in contents for part in parts if isinstance(part, (dict, list))]
        if not level:
            return
    raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
