"""Read the text answer of a reply: the text after the last marker, without mark-up, quotes and full stop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.scoring.answer_markup import PlainReply
from lumos_queue.scoring.answer_statements import Statement, sentence

_AROUND = " \t\n*_`#>\"“”„«»'‘’"
_INITIAL = re.compile(r"(?:\.|\b[A-Z])\.$")  #: an abbreviation or three dots, whose dot stays
_MATHS = re.compile(r"^\$(?P<inner>[^$]*)\$$")


def read_text(reply: PlainReply, statements: Sequence[Statement]) -> str:
    """Return the answer as text; without a statement, the whole reply; '' for an empty reply.

    A bold part that begins a statement is the answer: `**Paris**, the capital`. A line after `####` is a heading, and
    no answer, unless it is the last line of the reply.
    """
    for statement in reversed(statements):
        if statement.is_whole and statement.start and _is_heading(reply, statement):
            continue
        if answer := _bare(_read_statement(statement)):
            return answer
    return _bare(reply.text)


def _read_statement(statement: Statement) -> str:
    if statement.is_whole:
        return statement.text
    text = statement.text
    for start, end in statement.bold[:1]:
        if not text[:start].strip(_AROUND):
            return text[start:end]
    return sentence(text)


def _is_heading(reply: PlainReply, statement: Statement) -> bool:
    before = reply.text[max(0, statement.start - 12) : statement.start]
    return "####" in before and not statement.is_last_line


def _bare(text: str) -> str:
    text = text.strip(_AROUND)
    if inner := _MATHS.match(text):
        text = inner["inner"]
    if text.endswith(".") and not _INITIAL.search(text):
        text = text[:-1]
    return text.strip(_AROUND)
