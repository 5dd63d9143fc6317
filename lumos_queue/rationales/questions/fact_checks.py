"""Checks of the words of a fact that answer a question (facts.py), from version 2 of the rules on.

How many shops has Acme?        Acme has 48 shops. It runs over 600 stores.       the second fact contradicts the first
Which tribes founded Ahr?       It was founded by a union of two peoples, Bels and Cals.       the names follow later
Which song praises ink?         Ink is praised in a popular song.                 `a popular song` does not say which
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.questions.answers import DIMENSIONS, HOW_MANY, WHEN, type_words
from lumos_queue.rationales.questions.english import LIGHT_WORDS
from lumos_queue.rationales.questions.predicates import asks_for_kind, noun_of
from lumos_queue.rationales.questions.spans import Span, compare_spans, names, quantities
from lumos_queue.rationales.questions.word_matches import content, find, has_form, words

#: Nouns that count the same things in two facts.
_COUNTED_ALIKE = (
    "location locations store stores shop shops restaurant restaurants outlet outlets branch branches site sites",
    "person people persons inhabitant inhabitants resident residents citizen citizens population",
    "employee employees worker workers staff",
    "seat seats capacity spectator spectators",
    "episode episodes",
    "child children kid kids son sons daughter daughters",
)
#: Verbs for the same event.
_EVENTS = (
    "form formed establish established found founded create created start started",
    "hold held take took place occur occurred happen happened give given awarded celebrated",
    "release released publish published come came launch launched introduce introduced premiere premiered air aired",
    "invent invented create created introduce introduced develop developed",
)
#: By verb, the verbs of its groups.
_EVENTS_ALIKE = {
    word: frozenset(other for group in _EVENTS if word in group.split() for other in group.split())
    for word in " ".join(_EVENTS).split()
}
_GROUPS = {word: number for number, group in enumerate(_COUNTED_ALIKE) for word in group.split()}
_PRONOUN = re.compile(r"(?:It|They|He|She|Its|Their|His|Her)\b")
_COUNT_FIRST = re.compile(r"(?:There|The|Over|More|About|At|In|Some|Only|[0-9][0-9,.]*)\b")
_NAMES_FOLLOW = re.compile(r"(?:,|:| –| —| -|\s*\() ?(?:the |both )?[\"“]?[A-Z]")
_INDEFINITE = re.compile(r"an?\b", re.IGNORECASE)


def is_contradicted(question: str, answer: str, fact: str, others: Sequence[str]) -> bool:
    """Return whether another fact gives another number of what the question asks for."""
    spans = quantities(answer)
    if len(spans) != 1:
        return False
    location = find(spans[0].text, fact)
    counted_words = words(fact[location[1] :][:60])[:3] if location else []
    return any(
        _is_rival(span, other, spans[0], [*words(question), *words(spans[0].text), *counted_words])
        for other in others
        if other != fact and _has_same_subject(question, other, spans[0].kind)
        for span in quantities(other)
        if find(span.text, question) is None
    )


def _is_rival(span: Span, fact: str, own: Span, known_words: Sequence[str]) -> bool:
    """Return whether a number counts or measures what the own number does, and differs from it."""
    if span.kind != own.kind or compare_spans(span, own) == "=":
        return False
    if own.kind != "number":
        return not any(has_form(word, DIMENSIONS) and not has_form(word, known_words) for word in words(fact))
    counted_words = [*words(span.text), *words(fact[span.end :][:60])[:3]]
    groups = {_GROUPS[word] for word in known_words if word in _GROUPS}
    return any(_GROUPS.get(word) in groups or has_form(word, known_words) for word in counted_words if _is_noun(word))


def _is_noun(word: str) -> bool:
    return bool(content(word)) and not word[:1].isdigit() and word not in LIGHT_WORDS and not quantities(word)


def _has_same_subject(question: str, fact: str, kind: str) -> bool:
    """Return whether a fact can be about the subject of the question: it names that subject, or no other."""
    own_names = [content(span.text)[-1:] for span in names(question) if span.start]
    unit_words = {word for span in quantities(fact) for word in words(span.text)}
    fact_words = [word for word in words(fact) if word not in unit_words]
    if any(own_names):
        if any(has_form(word, fact_words) for name in own_names for word in name):
            return True
        has_own_names = any(span.start or " " in span.text for span in names(fact))
        counts_first = kind == "number" and not has_own_names and _COUNT_FIRST.match(fact)
        return bool(_PRONOUN.match(fact) or counts_first)
    counted_words = words(match["noun"]) if (match := HOW_MANY.match(question)) else []
    needless = LIGHT_WORDS | type_words(question) | _GROUPS.keys() | {*counted_words}
    subject_words = [word for word in content(question) if word not in needless]
    return any(has_form(word, fact_words) for word in subject_words)


def is_of_another_event(question: str, fact: str) -> bool:
    """Return whether a fact with a date has no word for the event of the question, and only names in common with it."""
    match = WHEN.match(question)
    if not match:
        return False
    named = {word for span in names(question) if span.start for word in words(span.text)}
    needless = LIGHT_WORDS | type_words(question) | named | {"first", "second", "last"}
    event_words = [word for word in content(question) if word not in needless]
    fact_words = words(fact)
    return bool(event_words) and not any(
        has_form(word, fact_words) or _EVENTS_ALIKE.get(word, frozenset()) & {*fact_words} for word in event_words
    )


def is_vague(question: str, answer: str, fact: str) -> bool:
    """Return whether the answer to `which …` only describes what the question asks for."""
    noun = words(noun_of(question))
    if not noun or asks_for_kind(question) or not _INDEFINITE.match(answer):
        return False
    location = find(answer, fact)
    if location and _NAMES_FOLLOW.match(fact, location[1]):
        return True
    for word in answer.split()[1:]:
        if has_form(noun[-1], words(word)):
            return True
        if not word.islower():
            return False
    return False
