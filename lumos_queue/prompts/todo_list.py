"""Read a planner's to-do list: the lines of a numbered or a bulleted list, without the other text of the reply.

Reading never raises; a reply without a list has no lines. Text before, after or between the lines of the list is not
part of it, and neither are bullets below a line of a numbered list, which explain the line. Since version 3 of the
formulations numbers may be bold, escaped, or after marks of lists and headings, and `Task 1:` is read as `Step 1:`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.text_calls.three_lines import MARKED

_NUMBERED = re.compile(r"\A[ \t]*(?:\*\*|#{1,6}[ \t]+)?(?:step[ \t]+)?[0-9]{1,3}[.):][ \t]*+(.*)", re.IGNORECASE)
_MARKED = re.compile(
    r"\A[ \t]*+(?:(?:[-*+•>]|#{1,6})[ \t]++){0,3}+[*_]{0,3}+"
    r"(?:(?:step|task)[ \t]*+#?[*_]{0,3}+[0-9]{1,3}[*_]{0,3}+(?:\\?[.):]|[ \t]*+[-–—](?=[ \t]))"
    r"|[0-9]{1,3}[*_]{0,3}+\\?[.):])[*_]{0,3}+[ \t]*+(.*)",
    re.IGNORECASE,
)
_BULLETED = re.compile(r"\A[ \t]*[-*+•‣–][ \t]++(?:\[[ xX]?\][ \t]*+)?(.*)")
MAX_READ = 100_000  #: characters of a reply
MAX_LINES = 30
MAX_LINE = 500  #: characters of a line


def read_list(text: str, version: int = MARKED) -> tuple[str, ...]:
    """Return at most MAX_LINES lines of the list, without numbers and bullets. A numbered list is preferred."""
    text_lines = text[:MAX_READ].splitlines()
    for form in (_MARKED if version >= MARKED else _NUMBERED, _BULLETED):
        todos = (_clean(match[1]) for line in text_lines if (match := form.fullmatch(line)))
        if lines := tuple(line for line in todos if line):
            return lines[:MAX_LINES]
    return ()


def write_list(lines: Sequence[str]) -> str:
    """Return the list as text; `read_list` reads the same lines from it."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _clean(line: str) -> str:
    return " ".join(line.replace("**", " ").split())[:MAX_LINE].strip()
