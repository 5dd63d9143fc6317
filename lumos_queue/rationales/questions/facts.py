"""Finds the words of a fact that answer a question. It is for rows that have facts, but no answers of steps.

How tall is Ann?             Ann is 7 feet tall.                -> 7 feet
When did Ann die?            Ann died in 1800 in Ahr.           -> 1800
Who founded Acme?            Acme was founded by Ann Berg.      -> Ann Berg
What is Acme made of?        Acme is made of ink and salt.      -> ink and salt

A fact answers the question if it contains the words of the question, few other words, and one span of the requested
kind (answers.py, predicates.py), and if no other fact of the row contains nearly as many of the question's words.
Precision matters more than recall: in unclear cases there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.questions.answers import read_answer, type_words
from lumos_queue.rationales.questions.english import LIGHT_WORDS
from lumos_queue.rationales.questions.fact_checks import is_contradicted, is_of_another_event, is_vague
from lumos_queue.rationales.questions.spans import names
from lumos_queue.rationales.questions.word_matches import content, has_form, words

MARGIN = 0.25  #: by which the share of the question's words in the best fact must exceed that in any other
ROUGH_SHARE, ROUGH_MARGIN = 0.6, 0.34  #: of a fact whose answer is checked in another way
MAX_CHARACTERS = 400  #: of a question or fact
MAX_WORDS = 14  #: of a result
#: They negate a sentence or restrict it to some cases.
_TURNS = re.compile(
    r"\b(?:no|not|none|never|neither|nor|without|cannot|except|unlike|non|lacks?|lacking|\w+n['’]t|if|although|though"
    r"|but|however|whether|unless|because|each|per|every)\b",
    re.IGNORECASE,
)
_LAST_DOT = re.compile(r"(?<![A-Z]\.[A-Z])\.$")  #: but not the full stop of `D.C.`


def find_answer(question: str, facts: Sequence[str], roughly: bool = False, strict: bool = False) -> str | None:
    """Return the words of a fact that answer the question; None if the answer is not clear.

    `roughly`: allow a fact with a date or a number to lack some words of the question and to have further words.
    Use it only if the answer is checked in another way. `strict`: apply the checks of version 2 (fact_checks.py).
    """
    query = question.strip().rstrip(" ?.")
    if not facts or max(map(len, (query, *facts))) > MAX_CHARACTERS:
        return None
    needless = LIGHT_WORDS | type_words(query)
    question_words = [word for word in content(query) if word not in needless]
    if not question_words:
        return None
    shares = [_share(query, question_words, fact) for fact in facts]
    best = max(range(len(facts)), key=lambda position: shares[position])
    margin = ROUGH_MARGIN if roughly else MARGIN
    if shares[best] < (ROUGH_SHARE if roughly else 1):
        return None
    if any(share > shares[best] - margin for position, share in enumerate(shares) if position != best):
        return None
    fact = _LAST_DOT.sub("", facts[best].strip())
    answer = None if _TURNS.search(fact) else read_answer(query, fact, roughly)
    if not answer or len(answer.split()) > MAX_WORDS:
        return None
    if strict and roughly and is_of_another_event(query, fact):
        return None
    if strict and (is_contradicted(query, answer, facts[best], facts) or is_vague(query, answer, fact)):
        return None
    all_words = words(query)
    return None if all(has_form(word, all_words) for word in content(answer)) else answer


def _share(query: str, question_words: Sequence[str], fact: str) -> float:
    """Return the share of the question's words in the fact. Of a name, the fact may contain only the last word."""
    fact_words = words(fact)
    optional = set()
    for name in names(query):
        *first, last = words(name.text) or [""]
        if has_form(last, fact_words):
            optional.update(first)
    required_words = [word for word in question_words if word not in optional or has_form(word, fact_words)]
    return sum(has_form(word, fact_words) for word in required_words) / len(required_words) if required_words else 0.0
