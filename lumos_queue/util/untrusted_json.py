"""JSON that others wrote. What cannot be read is a ValueError, whatever makes it so."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 100  #: lists and objects within each other; what goes through values afterwards calls itself for each


def read_json(data: str | bytes) -> Any:
    """The value. Raises ValueError for what is not JSON, nested too deeply, or holds a number of too many digits."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list)))
        level = [part for parts in inner for part in parts if isinstance(part, (dict, list))]
        if not level:
            return value
    raise ValueError(f"nested more than {DEEPEST} levels deep")
