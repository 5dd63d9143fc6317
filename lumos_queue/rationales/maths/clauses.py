"""Finds the words after a number up to the end of the clause, if they make sense without the rest.

clips altogether in April and May.        ->  clips altogether in April and May
apples, so he has                         ->  apples
dollars in the red and the blue box he    ->  None: up to `and`, the meaning would differ
"""

from __future__ import annotations

import re

from lumos_queue.rationales.maths.english import INCOMPLETE, VERBAL, VERBS

MAX_CONJUNCT_WORDS = 4  #: of a second noun phrase that belongs to the clause: `and May`

_END = re.compile(r"[.;:,=(<]|\b(?:and|so|which|because|since|but|while|then)\b")
#: What can end the words after a result; those of _JOINTS do so only before a new clause.
_TAIL_END = re.compile(
    r"[.;:!?](?![0-9])|,(?![0-9])|[=(<*+×÷]|/(?=\s*[0-9])|\s-(?=\s)|\$?[0-9.]{1,20}-\$?[0-9]|\b(?:and|so|because|since|but|while)\b",
    re.IGNORECASE,
)
_JOINTS = frozenset((",", "and"))
_WORDS = re.compile(r"[A-Za-z' -]+")
_NEW_CLAUSE = re.compile(
    r"\s*(?:(?:and|so|or|then|but)\b\s*)*"
    r"(?:$|[\d$.;:=(<]|(?:so|then|but|which|because|since|while|he|she|they|it|we|there|that|this|now|leaving|making"
    r"|meaning|in total|if|when|thus|therefore)\b)"
)
_ABBREVIATIONS = frozenset(("sq", "cu", "mr", "mrs", "ms", "dr", "st", "fl", "approx"))
_PAIRS = {"between": "and", "both": "and", "either": "or", "neither": "nor"}


def clause_before_end(text: str) -> str | None:
    """Return the words up to the clause's end; None if ending there changes the meaning or splits a phrase.

    Parts of the text that are not plain words stay unchanged.
    """
    end = _END.search(text)
    clause = (text[: end.start()] if end else text).strip()
    if end and end[0] in (",", "and") and clause and not _NEW_CLAUSE.match(text[end.end() :]):
        conjunct = _conjunct(text[end.end() :]) if end[0] == "and" else None
        if conjunct is None:
            return None
        clause = f"{clause} and {conjunct}"
    words = clause.lower().split()
    if words and (words[-1] in INCOMPLETE or words[-1] in _ABBREVIATIONS):
        return None
    return None if any(word in words and partner not in words for word, partner in _PAIRS.items()) else clause


def words_of_clause(text: str) -> str:
    """Return the words up to the sentence's end, or up to a comma or a conjunction after which a new clause begins.

    Unlike `clause_before_end`, it loses no words of the clause: `pears, plums and figs` stays whole.
    """
    for end in _TAIL_END.finditer(text):
        if end[0].lower() not in _JOINTS or _NEW_CLAUSE.match(text[end.end() :]):
            return text[: end.start()].strip()
    return text.strip()


def _conjunct(text: str) -> str | None:
    """Return the words after `and` if they are a short noun phrase that ends the clause; else None."""
    end = _END.search(text)
    words = (text[: end.start()] if end else text).split()
    if (end and end[0] not in ".;:(") or not 1 <= len(words) <= MAX_CONJUNCT_WORDS:
        return None
    lower = [word.lower() for word in words]
    if any(word in VERBAL | VERBS or word.endswith("ed") for word in lower) or lower[-1] in INCOMPLETE:
        return None
    return " ".join(words) if _WORDS.fullmatch(" ".join(words)) else None
