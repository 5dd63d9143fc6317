"""Messages of others that differ only in their numbers: they count as the same reason."""

from __future__ import annotations

import re

from lumos_queue.util.display import one_line

MAX_TEXT = 240  #: characters of a message: what is longer may be a whole page of a server
_NUMBERS = re.compile(r"\d+(\.\d+)?")


def short_line(text: str) -> str:
    """The beginning of a message, as one harmless line."""
    return " ".join(one_line(text[:MAX_TEXT]).split())


def alike_key(line: str) -> str:
    """The line with each number replaced: messages with the same key are the same reason."""
    return _NUMBERS.sub("0", line)
