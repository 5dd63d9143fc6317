"""Finds where a text mentions numbers, with the unit of each and the words of its clause: `charges $15 to mow a lawn`.

Words are compared by their stems: `mows`, `mowing` and `mow` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.rationales.maths.english import AUXILIARIES, BEING, INCOMPLETE, NO_NAMES, PREPOSITIONS, PRONOUNS, VERBS
from lumos_queue.rationales.word_set import word_set
from lumos_queue.scoring.numerals import locate_numbers

MONEY, PERCENT = "$", "%"  #: units that are signs
MAX_CHARACTERS = 20_000  #: searched in a text
MAX_UNIT_WORDS = 3
_REACH = 60  #: characters after a number that can contain its unit

_TOKEN = re.compile(r"[A-Za-z][A-Za-z'’]*|\S")
_WORD = re.compile(r"[A-Za-z][A-Za-z'’]+")
_CLAUSE_END = re.compile(r"[.;?!](?![0-9])|,(?![0-9])|\b(?:and|but|while|then|so|because)\b")
_SKIPPED = word_set("of a an the more other extra additional another less fewer whole full new remaining different")
_SIGNS = {"dollar": MONEY, "dollars": MONEY, "buck": MONEY, "bucks": MONEY, "percent": PERCENT, "%": PERCENT}
_STOP = (
    PREPOSITIONS
    | BEING
    | AUXILIARIES
    | VERBS
    | PRONOUNS
    | word_set(
        "and or x times plus minus but because then so which left remain remaining each per since will would also only"
    )
)
_EMPTY = (
    INCOMPLETE | PREPOSITIONS | NO_NAMES | AUXILIARIES | BEING | PRONOUNS | word_set("how many much number two one")
)
_ENDINGS = ("ing", "ies", "ied", "ed", "es", "s", "e", "y")
_MIN_STEM = 3  #: letters


@dataclass(frozen=True, slots=True)
class Mention:
    """A number in a text."""

    value: Fraction
    start: int
    end: int
    unit: frozenset[str]  #: stems of the words after it, or MONEY or PERCENT; empty: unknown
    words: frozenset[str]  #: stems of the content words of its clause

    @property
    def is_percent(self) -> bool:
        return PERCENT in self.unit


def find_mentions(text: str) -> list[Mention]:
    """Return the mentions of numbers in a text, in figures or words, in order."""
    text = text[:MAX_CHARACTERS]
    bounds = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    mentions, index = [], 0
    for value, start, end in locate_numbers(text):
        while index + 2 < len(bounds) and bounds[index + 1] <= start:
            index += 1
        clause = text[bounds[index] : bounds[index + 1]]
        mentions.append(Mention(value, start, end, read_unit(text, start, end), content_stems(clause[:400])))
    return mentions


def read_unit(text: str, start: int, end: int) -> frozenset[str]:
    """Return the unit of the number from `start` to `end`: stems of the words after it, or a sign."""
    if text[:start].rstrip(" -").endswith(MONEY):
        return frozenset((MONEY,))
    return frozenset(_unit_words(text[end : end + _REACH]))


def _unit_words(text: str) -> Iterator[str]:
    """Yield the stems at the beginning of a text that belong to a unit."""
    count = 0
    for match in _TOKEN.finditer(text):
        token = match[0].lower()
        if token in _SIGNS:
            yield _SIGNS[token]
            return
        if token in _SKIPPED or (token in "-/" and not count):
            continue
        if not token[0].isalpha() or token in _STOP or count == MAX_UNIT_WORDS:
            return
        yield find_stem(token)
        count += 1


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text."""
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(find_stem(word) for word in words if word not in _EMPTY and len(word) > 2)


def find_stem(word: str) -> str:
    """Return the stem of a word in lower case: `mow` for `mowing`; `berr` for `berry` and `berries`."""
    word = word.replace("’", "'").removesuffix("'s").rstrip("'")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


def is_disjoint(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether two units are known and have no word in common."""
    return bool(first) and bool(second) and not set(first) & set(second)
