"""Read yes or no in a statement or a line. Mark-up and leading words are removed; yes_no.py reads the rest."""

from __future__ import annotations

import re

from lumos_queue.scoring.answer_markup import PlainReply
from lumos_queue.scoring.answer_statements import Statement, sentence
from lumos_queue.scoring.yes_no import read_yes_no

MAX_LINE = 2_000  #: characters of a line that are read
MAX_LINES = 50  #: the last lines of a reply that are read
_DOLLAR = re.compile(r"\$")
_LED = re.compile(
    r"^(?:(?:so|therefore|thus|hence|overall|in conclusion|in short|finally|consequently|as a result|then|well|a|an"
    r"|likely|probably|definitely|clearly|simply)\b[,: ]*)+",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"[\W_]{0,20}(?:yes|no|true|false)[\W_]{1,20}[^\W_]", re.IGNORECASE)
_SAYS = re.compile(r"(?<![^\W_])(?:yes|no|true|false)(?![^\W_])", re.IGNORECASE)


def read_stated_truth(statement: Statement) -> tuple[bool, str | None]:
    """Return whether a statement has yes or no, and `Yes` or `No`; None instead if it has both, or no clear answer."""
    text = statement.text if statement.is_whole else sentence(statement.text)
    truths = {_read(line) for line in text.split("\n")}
    return bool(_SAYS.search(text)), truths.pop() if len(truths) == 1 else None


def read_truth_lines(reply: PlainReply, cut: bool) -> str | None:
    """Return the `Yes` or `No` of the first line; if it has none, of the last line that has an answer, or None."""
    lines = [line for line in reply.text.split("\n") if line.strip()]
    if not lines:
        return None
    if (len(lines) > 1 or not cut or _BEGINS.match(lines[0])) and (truth := _read(lines[0])):
        return truth
    for line in () if cut else reversed(lines[-MAX_LINES:]):
        if truth := _read(line):
            return truth
    return None


def _read(line: str) -> str | None:
    truth = read_yes_no(_LED.sub("", _DOLLAR.sub("", line[:MAX_LINE]).strip()))
    return None if truth is None else "Yes" if truth else "No"
