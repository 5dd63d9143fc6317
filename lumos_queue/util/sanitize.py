"""Text made storable where it enters: SQLite and PostgreSQL must hold exactly what the generator saw."""

from __future__ import annotations

import math
import re
from typing import Any

#: PostgreSQL has no NUL in text; a lone surrogate is not Unicode text.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> tuple[str, int]:
    """The text with each NUL and lone surrogate replaced, and how many there were."""
    if text.isascii() and "\x00" not in text:  # most texts: known at once, and no pattern has to look at them
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)


def storable_json(value: Any) -> Any:
    """A JSON value with storable texts; a float that JSON cannot hold becomes its name (`"nan"`, `"inf"`)."""
    if isinstance(value, str):
        return value if value.isascii() and "\x00" not in value else storable(value)[0]
    if isinstance(value, dict):
        return {
            key if type(key) is str and key.isidentifier() and key.isascii() else storable(str(key))[0]: (
                item if type(item) is str and item.isascii() and "\x00" not in item else storable_json(item)
            )
            for key, item in value.items()
        }
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [storable_json(item) for item in value]
    return value
