"""Words in English and German, and the German inflections: a closed vocabulary, so that references are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase in two languages."""

    en: str
    de: str


@dataclass(frozen=True, slots=True)
class BilingualNoun:
    """A thing or a person."""

    en: str
    en_plural: str
    de: str
    de_plural: str
    gender: str  #: in German: 'm', 'f' or 'n'


NUMBERS = (Phrase("two", "zwei"), Phrase("three", "drei"), Phrase("four", "vier"))  #: from 2
_EIN = {"m": "ein", "f": "eine", "n": "ein"}
_ENDING = {"m": "er", "f": "e", "n": "es"}  #: of an adjective after 'ein' in the nominative
_DEN = {"m": "den", "f": "die", "n": "das"}
_ENDING_AFTER_DEN = {"m": "en", "f": "e", "n": "e"}
PRONOUNS: Mapping[str, str] = {"m": "er", "f": "sie", "n": "es"}


def count_noun(noun: BilingualNoun, adjective: Phrase, count: int) -> Phrase:
    """Return 'a red apple' or 'two red apples'. German is in the nominative. `count` is 1 to 4."""
    if count == 1:
        en = f"{article(adjective.en)} {adjective.en} {noun.en}"
        return Phrase(en, f"{_EIN[noun.gender]} {adjective.de}{_ENDING[noun.gender]} {noun.de}")
    number = NUMBERS[count - 2]
    return Phrase(f"{number.en} {adjective.en} {noun.en_plural}", f"{number.de} {adjective.de}e {noun.de_plural}")


def object_noun(noun: BilingualNoun, adjective: Phrase) -> Phrase:
    """Return 'the old bridge' as an object. German is in the accusative."""
    german = f"{_DEN[noun.gender]} {adjective.de}{_ENDING_AFTER_DEN[noun.gender]} {noun.de}"
    return Phrase(f"the {adjective.en} {noun.en}", german)


def article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case; the other letters stay as they are."""
    return text[:1].upper() + text[1:]
