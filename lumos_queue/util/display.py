"""Make untrusted text (of models, servers, files, hosts) safe for a terminal, a log or a pipe.

Replaced are characters that a terminal would obey or that mislead a reader: control characters (C0 and C1, which begin
escape sequences), changes of the direction of writing, invisible characters, line separators, lone surrogates.
"""

from __future__ import annotations

import json
import logging
import unicodedata

from lumos_queue.util.sanitize import REPLACEMENT


def harmless(text: str) -> str:
    """Return the text with a replacement character for each unsafe one. Line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(character if character in "\n\t" or _is_harmless(character) else REPLACEMENT for character in text)


def one_line(text: str) -> str:
    """Return a harmless text as one line."""
    return harmless(" ".join(text.splitlines()))


def json_line(value: object) -> str:
    """Return a value as JSON on one line. All scripts stay readable; unsafe characters are JSON escapes."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else json.dumps(character)[1:-1] for character in text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


class LogFormatter(logging.Formatter):
    """A log formatter that makes the output of another formatter harmless, and indents all lines after the first."""

    def __init__(self, inner: logging.Formatter):
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return harmless("\n    ".join(self._inner.format(record).splitlines()))
