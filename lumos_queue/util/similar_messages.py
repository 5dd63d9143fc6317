"""Recognise messages with the same reason: they differ only in numbers."""

from __future__ import annotations

import re

from lumos_queue.util.display import one_line

MAX_TEXT = 240  #: characters of a message, as a server may send a whole page
_NUMBERS = re.compile(r"\d+(\.\d+)?")


def short_line(text: str) -> str:
    """Return the beginning of a message, as one harmless line."""
    return " ".join(one_line(text[:MAX_TEXT]).split())


def alike_key(line: str) -> str:
    """Return the line with each number replaced. Messages with the same key have the same reason."""
    return _NUMBERS.sub("0", line)
