"""Text of others (models, servers, files, hosts) made safe for a terminal, a log or a pipe.

Replaced is what a terminal would obey and what misleads a reader: control characters (C0, C1, and so every escape
sequence), characters that change the direction of writing, invisible ones, line separators, halves of characters.
"""

from __future__ import annotations

import json
import logging
import unicodedata

from lumos_queue.util.sanitize import REPLACEMENT


def harmless(text: str) -> str:
    """The text with a replacement character for each that must not pass; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if character in "\n\t" or _is_harmless(character) else REPLACEMENT for character in text)


def percent(share: float, digits: int = 1) -> str:
    """`48.0 %`, of 0.48."""
    return f"{100 * share:.{digits}f} %"


def one_line(text: str) -> str:
    """As `harmless`, in one line."""
    return harmless(" ".join(text.splitlines()))


def json_line(value: object) -> str:
    """A value as JSON on one line: other scripts stay readable, what must not pass is written as an escape."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else json.dumps(character)[1:-1] for character in text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


class LogFormatter(logging.Formatter):
    """What another formatter makes of a record, harmless; further lines are indented, unlike the next record."""

    def __init__(self, inner: logging.Formatter):
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return harmless("\n    ".join(self._inner.format(record).splitlines()))
