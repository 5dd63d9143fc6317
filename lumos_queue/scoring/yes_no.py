"""Reading yes or no from an answer, from whole words by themselves: `eyes`, `No one knows`, `not yes` say neither."""

from __future__ import annotations

import re

from lumos_queue.scoring.spans import is_no_answer, read_answer

_SAID = {"yes": True, "true": True, "no": False, "false": False}
_WORD = r"(yes|no|true|false)(?![^\W_])"
_CLAUSE = re.compile(r"[.,;!?()\n\r…]|\s[-–—]+\s|[–—]")  #: what ends a clause
_ALONE = re.compile(rf"[\W_]*{_WORD}[\W_]*", re.IGNORECASE)
_ALSO = re.compile(rf"[\W_]*(?:(?:and|or|but|also|maybe|perhaps) +)*{_WORD}[\W_]*", re.IGNORECASE)
_STATED = re.compile(
    r"(?<![^\W_])answer(?: to (?:the|this|that|your) question)?[*_\"' ]*(?:is(?![^\W_]):?|:)"
    rf"[\W_]*{_WORD}[\W_]*(?::|$)",
    re.IGNORECASE,
)
#: What makes `… the answer is yes` say something else.
_DOUBT = re.compile(r"n['’]t\b|\b(?:not|cannot|never|neither|nor|no|hardly|if|whether|unless|doubt)\b", re.IGNORECASE)


def read_yes_no(text: str) -> bool | None:
    """Whether the answer is yes or `True` (True), or no or `False` (False); None when it says neither, or both.

    What counts is the first word, and what follows `answer is` or `Answer:`; each only before punctuation or the end.
    """
    if is_no_answer(text):
        return None
    clauses = [clause for clause in _CLAUSE.split(read_answer(text)) if clause.strip()]
    parts = [part for clause in clauses for part in clause.split(":")]
    statements = [
        _value(match) for clause in clauses if (match := _STATED.search(clause)) and not _is_doubtful(clause, match)
    ]
    if not statements and not (parts and _ALONE.fullmatch(parts[0])):
        return None
    truths = {*statements, *(_value(match) for part in parts if (match := _ALSO.fullmatch(part)))}
    return truths.pop() if len(truths) == 1 else None


def _value(match: re.Match[str]) -> bool:
    return _SAID[match[1].lower()]


def _is_doubtful(clause: str, match: re.Match[str]) -> bool:
    return _DOUBT.search(clause, 0, match.start()) is not None


def contains_yes(text: str | None) -> bool:
    """The rule of the LUMOS evaluation: `yes` anywhere in the answer; all else, also no answer at all, is no."""
    return text is not None and "yes" in text.lower()
