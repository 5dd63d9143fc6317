"""Checks of the two questions of a bridge (bridges.py), from version 2 of the rules on.

The island of Ahr           no relation: Ahr is the island's name, so `What is the island of Ahr?` asks for nothing
Which single …? -> Ann      another type: Ann's page describes a person
Which film featured Ann?    several right answers: her page lists `"Ink", "Salt" and "Quill"`
"""

from __future__ import annotations

import re

from lumos_queue.rationales.questions.relations import is_person
from lumos_queue.rationales.questions.spans import names
from lumos_queue.rationales.questions.word_matches import content, find, has_form, occurs, words
from lumos_queue.rationales.word_set import word_set

NEAR_WORDS = 5  #: before a name, within which its type is stated: `the blind singer and pianist Ann Berg`

#: `the X of Y` asks for a thing if X is one of these: X is then not the kind of thing that Y itself is.
_RELATIONS = word_set(
    """actor actress architect author bassist birthplace brother capital captain ceo chairman chairwoman chancellor
    cinematographer coach co-author co-creator co-founder co-host co-writer cofounder commander composer conductor
    creator currency daughter designer developer director discoverer distributor drummer editor emperor employer
    empress father filmmaker founder frontman governor guitarist headquarters host hometown husband illustrator
    inventor king leader lyricist maker manager mayor mother namesake narrator nickname novelist owner painter
    performer playwright predecessor prequel president producer protagonist pseudonym publisher queen screenwriter
    sculptor seat sequel setting singer sister son songwriter spouse star successor translator venue vocalist wife
    writer"""
)
_PEOPLE = word_set(
    "person man woman individual boy girl frontman ceo star spouse daughter son brother sister wife husband"
)
_ROLE = re.compile(r"\b(?:is|was) (?:an?|the) ((?:[\w'’-]+ ){0,6}?[\w'’-]+)(?=[ ,.;]|$)")
_PERSONAL = re.compile(r"(?:^|[.!?]\s+)(?:He|She)\b|\b[Bb]orn\b")
_QUOTED = re.compile(r'["“]([^"“”]{1,80})["”]')
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
_NAME_BEFORE_AND = re.compile(r"(?:[\"”]|(?<![\w.’'-])[A-Z0-9][\w.’'-]{0,40}),? (?:and|or|&) (?:the )?[\"“]?$")
_AND_NAME_AFTER = re.compile(r"[\"”]?,?[\"”]? (?:and|or|&) (?:the )?[\"“A-Z0-9]")
_QUOTE_BESIDE = re.compile(r"[\"”]?,[\"”]? [\"“]")
_NAME_LIST_AFTER = re.compile(r"(?:, [A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){0,4}){1,6},? (?:and|or|&) [A-Z]")
_WINDOW = 200  #: characters beside a name in which a list is looked for


def is_relation(noun: str) -> bool:
    """Return whether `the NOUN of Y` is another thing than Y: the author of a book, but not the island of Ahr."""
    last = noun.split()[-1].casefold()
    return last in _RELATIONS or noun.casefold().endswith(("alma mater", "parent company", "record label"))


def has_type(noun: str, name: str, own_text: str, other_text: str) -> bool:
    """Return whether the thing `name` can be what the noun phrase names: its page does not describe another thing.

    `own_text`: of the page about the thing. `other_text`: of the page that mentions it.
    """
    head = words(noun)[-1]
    is_stated = has_form(head, [*words(name), *words(own_text), *_words_before(name, other_text)])
    is_person_page = _is_of_person(own_text)
    if is_person(head) or head in _PEOPLE:
        return is_person_page or is_stated or not _ROLE.search(own_text)
    return not is_person_page and (is_stated or not _ROLE.search(own_text))


def is_named_beside(noun: str, own_text: str, other_text: str) -> bool:
    """Return whether a relation between two things, or the person who has it, is stated by their pages."""
    head = words(noun)[-1]
    if is_person(head) or head in _PEOPLE:
        return _is_of_person(own_text) or has_form(head, words(own_text))
    return not _is_of_person(own_text) and has_form(head, words(f"{own_text} {other_text}"))


def has_rivals(name: str, noun: str, question: str, text: str) -> bool:
    """Return whether the text of a page has further answers to the question besides `name`.

    They are in a list with the name, or they are other titles in quotes, or names with the question's noun, in
    sentences that have as many words of the question as the sentence with the name.
    """
    location = find(name, text)
    while location is not None:
        start, end = location
        before, after = text[max(0, start - _WINDOW) : start], text[end : end + _WINDOW]
        if any(pattern.match(after) for pattern in (_AND_NAME_AFTER, _QUOTE_BESIDE, _NAME_LIST_AFTER)):
            return True
        if _NAME_BEFORE_AND.search(before):
            return True
        location = find(name, text, end)
    sentences = _SENTENCE_END.split(text)
    question_words = content(question)
    sentence_words = [words(sentence) for sentence in sentences]
    shares = [sum(has_form(word, known_words) for word in question_words) for known_words in sentence_words]
    own_shares = [share for share, sentence in zip(shares, sentences, strict=True) if occurs(name, sentence)]
    own_share = max(own_shares, default=0)
    is_quoted = any(_overlap(name, quoted) for quoted in _QUOTED.findall(text))
    return any(
        _rivals(name, noun, question, sentence, is_quoted)
        for share, sentence in zip(shares, sentences, strict=True)
        if share >= own_share
    )


def _rivals(name: str, noun: str, question: str, sentence: str, is_quoted: bool) -> list[str]:
    """Return the names in a sentence that may answer the question as `name` does, which may be a title in quotes."""
    head = words(noun)[-1]
    candidates = [span.text for span in names(sentence) if " " in span.text and words(span.text)[-1:] == [head]]
    candidates += [match.strip(" ,.") for match in _QUOTED.findall(sentence)] if is_quoted else []
    return [text for text in candidates if not _overlap(name, text) and not occurs(text, question)]


def _overlap(first: str, second: str) -> bool:
    return occurs(first, second) or occurs(second, first)


def _is_of_person(text: str) -> bool:
    """Return whether the sentences describe a person."""
    roles = [word for match in _ROLE.finditer(text[:2000]) for word in match[1].split()[-1:]]
    return _PERSONAL.search(text) is not None or any(is_person(role) for role in roles)


def _words_before(name: str, text: str) -> list[str]:
    """Return the words directly before a name's first occurrence in a text."""
    location = find(name, text)
    return words(text[max(0, location[0] - _WINDOW) : location[0]])[-NEAR_WORDS:] if location else []
