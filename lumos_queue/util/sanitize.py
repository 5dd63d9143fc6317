"""Make text storable as soon as it enters, so that the databases store exactly the text that an agent's code gets."""

from __future__ import annotations

import math
import re
from typing import Any

#: PostgreSQL has no NUL in text; a lone surrogate is not Unicode text.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> tuple[str, int]:
    """Return the text with each NUL and each lone surrogate replaced, and the number of replacements."""
    if text.isascii() and "\x00" not in text:  # most texts: this check is faster than the pattern
        return text, 0
    return _UNSTORABLE.subn(REPLACEMENT, text)


def storable_json(value: Any) -> Any:
    """Return a JSON value with storable texts. A float that is not finite becomes its name (`"nan"`, `"inf"`)."""
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
