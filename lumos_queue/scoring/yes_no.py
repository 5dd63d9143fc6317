"""Read yes or no from an answer. They must be words by themselves: `eyes`, `No one knows` and `not yes` are neither."""

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
    """Return True for the answers yes and `True`, False for no and `False`; None if the answer has neither, or both.

    The first word counts, and the word after `answer is` or `Answer:`, but only if punctuation or the end follows.
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
    """Apply the rule of the LUMOS evaluation: `yes` anywhere in the answer is yes; any other text, or None, is no."""
    return text is not None and "yes" in text.lower()
