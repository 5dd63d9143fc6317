"""Describes the quantity that a line of a GSM8K solution calculates, in the words of the line.

    Ida sold 36/3 = <<36/3=12>>12 tarts on Monday.      ->  how many tarts Ida sold on Monday
    Jan earns 90/6 = $<<90/6=15>>15 per hour.           ->  how much money Jan earns per hour

The rules check the form of the words, not the meaning: they must be a complete phrase, either a noun with whole
prepositional phrases or a subject with its verb. Lines of other forms have no description.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.rationales.maths.calculations import FIGURES
from lumos_queue.rationales.maths.clauses import clause_before_end
from lumos_queue.rationales.maths.english import (
    ADJECTIVES,
    AUXILIARIES,
    BEING,
    DETERMINERS,
    LINKS,
    MEASURES,
    MONEY_TAIL,
    NO_NAMES,
    PREPOSITIONS,
    PRONOUNS,
    VERBS,
)
from lumos_queue.scoring.numerals import numbers_in

MAX_WORDS = 12  #: of the text after the result
MAX_NOUN_WORDS = 4  #: of the counted things
MAX_HEAD_WORDS = 6  #: of subject and verb
_ALONE = (["in", "total"], ["altogether"], ["each"])  #: after `how much money`, without subject and verb

_RESULT = re.compile(r"^\s*(?P<money>\$?)[-\d.,/]*\d\s*(?P<percent>%?)")
_WORDS = re.compile(r"[A-Za-z' -]+")
_OPENING = re.compile(
    r"^(?:(?:so|thus|then|therefore|hence|now|finally|first|next|and|also|that means|this means|in total|altogether"
    r"|overall|since|because)\b,?\s*(?:that\s)?)+",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:a total of|in total|another|about|up to|a|an|the|only)\s*$")


def describe_quantity(before: str, after: str, stated_numbers: Collection[Fraction]) -> str | None:
    """Return `how many …` for a mark between `before` and `after`; None if these words form no readable phrase.

    `stated_numbers` are the numbers of the question. Words with other numbers are rejected, as they might reveal a
    result.
    """
    result = _RESULT.match(after)
    tail = clause_before_end(after[result.end() if result else 0 :])
    if tail is None:
        return None
    if tail and (_WORDS.fullmatch(tail) is None or not _safe(tail, stated_numbers) or len(tail.split()) > MAX_WORDS):
        return None
    words = tail.split()
    head = _head(before, stated_numbers)
    if before.rstrip().endswith("$") or (result and result["money"]):
        return _money(words[1:] if words[:1] == ["dollars"] else words, head)
    if result and result["percent"]:
        return f"what percentage {' '.join(words)}" if words[:1] == ["of"] else None
    return _count(words, head)


def _money(words: list[str], head: list[str] | None) -> str | None:
    """Return a phrase like `how much money Jan earns per hour`; None if the words form none."""
    if words and words[0] not in MONEY_TAIL:
        return None
    if head and head[-1] not in BEING:
        return " ".join(["how much money", *head, *words])
    if words == ["left"]:
        return "how much money is left"
    return " ".join(["how much money", *words]) if words[:1] == ["per"] or words in _ALONE else None


def _count(words: list[str], head: list[str] | None) -> str | None:
    """Return a phrase like `how many tarts Ida sold on Monday`; None if the words form none."""
    if not words or (words[0] in PREPOSITIONS and words[0] != "more") or not words[0][0].islower():
        return None
    has_more = words[:1] == ["more"]
    end = next(
        (position for position in range(int(has_more), len(words)) if words[position] in PREPOSITIONS), len(words)
    )
    if words[end : end + 1] == ["of"]:
        end = next((position for position in range(end + 1, len(words)) if words[position] in PREPOSITIONS), len(words))
    noun, rest = words[:end], words[end:]
    if not noun or (has_more and len(noun) == 1) or len(noun) > MAX_NOUN_WORDS:
        return None
    ends_in_being = head is not None and head[-1] in BEING
    if not MEASURES.isdisjoint(noun):
        return " ".join(["how many", *noun, *head, *rest]) if head and ends_in_being and noun[-1] in MEASURES else None
    if ends_in_being or (rest and rest[0] in ("are", "is", "was", "were", "he", "she", "they", "it", "who", "that")):
        head = None
    if head is None and rest[:1] == ["left"]:
        noun, head = (noun[:-1], ["are", "still"]) if noun[-1] == "still" else (noun, ["are"])
    return " ".join(["how many", *noun, *(head or ()), *rest])


def _head(before: str, stated_numbers: Collection[Fraction]) -> list[str] | None:
    """Return subject and verb (`Ida sold`) if the text before the formula contains nothing else; else None."""
    text = _OPENING.sub("", before[-200:].rsplit(". ", 1)[-1].strip())
    text = _TOTAL.sub("", FIGURES.sub("", text)).strip()
    words = text.split()
    if not 2 <= len(words) <= MAX_HEAD_WORDS or words[-1] not in VERBS | BEING:
        return None
    if _WORDS.fullmatch(text) is None or not _safe(text, stated_numbers):
        return None
    first, between = words[0].lower(), words[1:-1]
    if first in PRONOUNS:
        return [first, *words[1:]] if AUXILIARIES.union(BEING).issuperset(between) else None
    if first in DETERMINERS:
        return [first, *words[1:]] if _is_noun(between) else None
    if first in NO_NAMES or not words[0][0].isupper():
        return None
    if between[:1] == ["and"] and len(between) > 1:
        second = between[1] in DETERMINERS and len(between) > 2  # Ann and her brother
        between = between[3:] if second else between[2:] if between[1][0].isupper() else between
    return words if AUXILIARIES.union(BEING).issuperset(between) else None


def _is_noun(words: list[str]) -> bool:
    """Return whether the words can be between `the` and a verb: `other boys`, but not `total` or `man who bought`."""
    while words and words[-1] in AUXILIARIES | BEING:
        words = words[:-1]
    if not words or words[-1] in ADJECTIVES:
        return False
    if "and" in words and any(word.endswith("ed") for word in words):
        return False  # two verbs: `the man cooked and sold`
    return LINKS.union(VERBS, BEING).isdisjoint(words)


def _safe(text: str, stated_numbers: Collection[Fraction]) -> bool:
    return all(number in stated_numbers for number in numbers_in(text, words=True))
