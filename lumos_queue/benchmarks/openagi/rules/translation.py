"""Translate English to German by a closed vocabulary. The longest known phrase is replaced; unknown words are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from lumos_queue.benchmarks.openagi.data.nouns import (
    PRONOUNS,
    BilingualNoun,
    article,
    capitalize,
    count_noun,
    object_noun,
)
from lumos_queue.benchmarks.openagi.data.pictures import WORDS
from lumos_queue.benchmarks.openagi.data.texts import NEGATIVE, POSITIVE
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS
from lumos_queue.benchmarks.openagi.data.words import (
    BUILDINGS,
    CITIES,
    DAYS,
    EVENTS,
    INSTRUMENTS,
    JOBS,
    LOOKS,
    VERBS,
)
from lumos_queue.experts.backends.pixels import read_text

_PIECES = re.compile(r"\w+|[^\w\s]")
#: 'It will stay closed until Friday': German names the day before the state.
_CLOSED = re.compile(r"\b(it|the [a-z]+ [a-z]+(?: [a-z]+)?) will stay closed until (\w+)", re.IGNORECASE)


class TranslateByVocabulary:
    def run(self, *inputs: bytes) -> bytes:
        return translate(read_text(inputs[0])).encode()


def translate(text: str) -> str:
    """Return the German of an English text. A sentence begins with a capital letter if the English sentence does."""
    return " ".join(_translate_clause(clause) for clause in _reorder(text).split("\n"))


def _reorder(text: str) -> str:
    """Return the text with each clause of the form `X will stay closed until Y` in the order of German words.

    Only an unknown subject stays English in such a clause.
    """

    def reorder(match: re.Match[str]) -> str:
        subject, day = match.groups()
        if subject.lower() == "it":
            subject = _pronoun(text[: match.start()].lower())
        elif (german := _subjects().get(subject.lower())) is not None:
            subject = german
        return f"{capitalize(subject)} bleibt bis {_phrases().get(day.lower(), day)} geschlossen"

    return _CLOSED.sub(reorder, text)


def _pronoun(before: str) -> str:
    """Return the German pronoun for the building that a text names last; 'es' if it names no building."""
    building = max(BUILDINGS, key=lambda noun: before.rfind(noun.en))
    return PRONOUNS[building.gender] if building.en in before else "es"


def _translate_clause(text: str) -> str:
    pieces = _PIECES.findall(text)
    german_pieces: list[str] = []
    index, begins = 0, True
    while index < len(pieces):
        length, german = _longest(pieces, index)
        capital = begins and pieces[index][:1].isupper()
        german_pieces.append(capitalize(german) if capital else german)
        begins = german in (".", "!", "?")
        index += length
    return _join(german_pieces, text)


def _longest(pieces: list[str], index: int) -> tuple[int, str]:
    for length in range(min(_longest_phrase(), len(pieces) - index), 0, -1):
        if (german := _phrases().get(" ".join(pieces[index : index + length]).lower())) is not None:
            return length, german
    return 1, pieces[index]


def _join(pieces: list[str], original: str) -> str:
    """Join the pieces, with spaces before commas and stops where the original has them."""
    text = " ".join(pieces)
    for mark in ",.?!":
        if f" {mark}" not in original:
            text = text.replace(f" {mark}", mark)
    return text.replace("[ MASK ]", "[MASK]")


@cache
def _phrases() -> dict[str, str]:
    return {english.lower(): german for english, german in _phrase_pairs()}


@cache
def _longest_phrase() -> int:
    return max(len(phrase.split()) for phrase in _phrases())


@cache
def _subjects() -> dict[str, str]:
    articles = {"m": ("der", "e"), "f": ("die", "e"), "n": ("das", "e")}
    return {
        object_noun(noun, look).en: f"{articles[noun.gender][0]} {look.de}{articles[noun.gender][1]} {noun.de}"
        for noun in BUILDINGS
        for look in LOOKS
    }


def _phrase_pairs() -> Iterator[tuple[str, str]]:
    yield from (("and", "und"), ("in", "in"), ("on", "am"))
    for word in (*CITIES, *DAYS, *JOBS, *INSTRUMENTS, *VERBS, *WORDS, POSITIVE, NEGATIVE):
        yield word.en, word.de
    for place in PLACES.values():
        yield place.phrase.en, place.phrase.de
    for event, german in EVENTS:
        yield f"{article(event)} {event}", german
    for noun in BUILDINGS:
        yield from ((object_noun(noun, look).en, object_noun(noun, look).de) for look in LOOKS)
    for thing in THINGS.values():
        yield from _forms(thing.noun)
        for count in range(1, 5):
            phrase = count_noun(thing.noun, thing.adjective, count)
            yield phrase.en, phrase.de


def _forms(noun: BilingualNoun) -> Iterator[tuple[str, str]]:
    if noun.en_plural != noun.en:
        yield noun.en_plural, noun.de_plural
    yield noun.en, noun.de
