"""Words and parts of clauses by which the rules of gap_questions.py recognize subjects, nouns and opening phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.maths.english import BEING, DETERMINERS, INCOMPLETE, NO_NAMES, PREPOSITIONS, PRONOUNS, VERBS
from lumos_queue.rationales.maths.verbs import MODALS, has_verb
from lumos_queue.rationales.word_set import word_set

MAX_OPENER_WORDS = 14
MAX_NOUN_WORDS = 5

_ARTICLES = word_set("a an every some both most many another one two three four five six seven eight nine ten all")
#: Nouns whose value is a number, so that `the total weight` needs no `how many`.
QUANTITIES = word_set(
    """total number cost price sum amount average weight length height width area volume temperature time distance age
    profit speed rate difference perimeter salary income revenue bill tip discount tax percentage share change balance
    savings earnings pay wage wages score size capacity value fee payment budget interest population count expense
    expenses costs sales commission bonus loss deposit depth half twice radius circumference ratio mean median raise"""
)
OPENER = re.compile(
    r"(?:on|in|at|after|before|during|for|from|if|when|by|with|within|over|each|every|together|altogether|combined|per"
    r"|until|all(?= (?:total|together|in all)\b)|next|last|that|this|between|among|without|once|out of|of|overall|as of"
    r"|to|while|initially|originally|later|tomorrow|yesterday|today|currently|now|finally|previously|eventually"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_SUM_OPENER = re.compile(
    r"(?:in total|in all|(?:all )?together|altogether|combined|overall),? (?=[A-Za-z])", re.IGNORECASE
)
_FIRST_PRONOUN = re.compile(r" (?=(?:he|she|they|there) )")
NO_SUBJECTS = word_set("that this which who what if since when because while that's that’s it's it’s there's")
_SPLITTING = PREPOSITIONS | word_set(
    """off through into out around than because combined apiece today yesterday tomorrow daily weekly currently now home
    away are is was were be have has had can could will would need needs needed without until within so then but and or
    because since while between among across up down over under against toward towards instead about once
    remain remained not either last next every divided multiplied times plus minus monday tuesday wednesday thursday
    friday saturday sunday his her their its your this these those the initially originally himself herself
    themselves using worth sold bought used made"""
)
_ATTRIBUTES = word_set("total combined remaining overall weekly daily monthly yearly his her its their last next")
#: Words that begin a clause without being names.
LOWER = DETERMINERS | PREPOSITIONS | PRONOUNS | NO_NAMES | _ARTICLES | QUANTITIES | INCOMPLETE
MEASURE_UNITS = word_set(
    """minutes hours seconds days weeks months years pounds ounces grams kilograms kg feet inches meters metres miles
    kilometers km cm yards gallons liters litres cups ml degrees square acres cents mph tons calories quarts pints"""
)


def split_noun(text: str) -> tuple[str, str]:
    """Return the counted things at the beginning of the text, and the rest."""
    words = text.split()
    end = 0
    while end < len(words):
        word = words[end].lower().strip(",")
        if word == "of" and end:
            end += 1
            continue
        if word == "and" and end and end + 1 < len(words) and words[end + 1].lower() not in _SPLITTING | VERBS:
            end += 1
            continue
        if word in _SPLITTING and not (end == 0 and word in ("more", "total", "remaining", "used", "times")):
            break
        if end and words[end - 1].lower() not in ("of", "more") and _is_participle(word, words[end + 1 : end + 2]):
            break
        end += 1
    if end > 1 and words[end - 1].lower() == "of":
        end -= 1
    noun = words[:end]
    if len(noun) > MAX_NOUN_WORDS or (noun and not re.fullmatch(r"[A-Za-z0-9][\w'’-]*", noun[0])):
        return "", text
    if noun == ["more"] or (noun and noun[-1].lower() == "of"):
        return "", text
    return " ".join(noun), " ".join(words[end:])


def _is_participle(word: str, following: Sequence[str]) -> bool:
    """Return whether a word after a noun is `sleeping`, or `expected` at the end or before a preposition."""
    is_last = not following or following[0].lower() in PREPOSITIONS
    return (word.endswith("ing") and len(word) > 5) or (word.endswith("ed") and len(word) > 4 and is_last)


def is_noun_phrase(text: str) -> bool:
    """Return whether a text begins as a noun phrase: with a determiner, a quantity or a possessive."""
    words = text.split()
    first = words[0].lower()
    is_possessive = bool(re.search(r"['’]s?$", words[0]) or (len(words) > 1 and re.search(r"['’]s?$", words[1])))
    return first in DETERMINERS | _ARTICLES | QUANTITIES or is_possessive


def names_quantity(text: str) -> bool:
    """Return whether the head of a noun phrase is a quantity: `the total cost of the pens`, `Ida's age`."""
    words = [word.lower().strip(",") for word in text.split()]
    ends = (at for at, word in enumerate(words) if at and word in _SPLITTING - _ATTRIBUTES)
    end = next(ends, len(words))
    return end > 0 and words[end - 1] in QUANTITIES


def is_opener(text: str) -> bool:
    """Return whether a text before a clause says when, where or on which condition."""
    if not OPENER.match(text) or len(text.split()) > MAX_OPENER_WORDS or "=" in text:
        return False
    if text.split()[-1].lower() in ("so", "then", "and", "that", "this") or re.match(
        r"that (?:many|percentage|amount)", text, re.I
    ):
        return False
    return not (text.split()[0].lower() in ("each", "every", "that", "this", "last", "next") and has_verb(text.split()))


def split_opener(text: str) -> tuple[str, str]:
    """Return a clause and its opening phrase, if a pronoun begins the clause: `In total they buy`."""
    if match := _SUM_OPENER.match(text):
        return text[match.end() :], match[0].strip(" ,")
    pronouns = list(_FIRST_PRONOUN.finditer(text)) if OPENER.match(text) else []
    if not pronouns:
        return text, ""
    start = pronouns[-1].start()
    return text[start:].strip(), text[:start].strip()


def is_complete(text: str) -> bool:
    return text.split()[-1].lower() not in INCOMPLETE - {
        "be",
        "is",
        "are",
        "was",
        "were",
        "have",
        "has",
        "had",
        "do",
        "does",
    }


def starts_as_pronoun(words: Sequence[str]) -> bool:
    """Return whether words begin with a word that stands for an earlier clause; `that many pens` does not."""
    return words[0].lower() in NO_SUBJECTS and " ".join(words[:2]).lower() not in ("that many", "that amount")


def is_subject(text: str) -> bool:
    """Return whether a text can begin with the subject of a clause."""
    words = text.split()
    first = words[0]
    lower = first.lower()
    if starts_as_pronoun(words) or lower in BEING | MODALS or lower in ("and", "or", "so", "then", "to", "for"):
        return False
    if OPENER.match(first) and lower not in ("each", "every", "last", "that", "this"):
        return False
    return first[0].isalnum()


def capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
