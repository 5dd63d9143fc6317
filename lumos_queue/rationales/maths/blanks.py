"""Describes a calculation of a GSM8K line by the line itself, with a blank in place of the result.

The tip came out to 110*.3=$<<110*.3=33>>33                      ->  the tip came out to $___
Reggie makes 3 points off long shots because 1 x 3 = <<1*3=3>>3  ->  Reggie makes ___ points off long shots
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.notation import variables_in
from lumos_queue.rationales.maths.calculations import strip_formula
from lumos_queue.rationales.maths.english import (
    AUXILIARIES,
    BEING,
    DETERMINERS,
    INCOMPLETE,
    NO_NAMES,
    PREPOSITIONS,
    PRONOUNS,
)
from lumos_queue.scoring.numbers import read_numeral
from lumos_queue.scoring.numerals import mask_numbers, numbers_in

MAX_BEFORE_WORDS = 20
MAX_AFTER_WORDS = 12
MAX_SUBJECT_WORDS = 14

_SENTENCE = re.compile(r"(?<=[.;!?])\s+")
_BOUNDARY = re.compile(r"(?:,|:|;|\bso|\bthen|\bmeaning|\bbecause|\band)\s+")
_OPENING = re.compile(
    r"^(?:[-\s,:.)]|\b(?:so|thus|then|therefore|hence|now|and|because|finally|that means|which means)\b)+",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|as)\W*$", re.IGNORECASE)
_RESULT = re.compile(r"^\s*+(?:\$\s*+)?[-\d.,/]*\d\s*(?P<percent>%?)")
_END = re.compile(r"[.,](?!\d)|[;:=(<$*+/×÷]|\b(?:so|because|since|then|which)\b")
_NUMERAL = re.compile(r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+")
_PLAIN = re.compile(r"""[\w\s$%.,:;'’"“”/&()+*=?!°-]*""")
#: `The total cost of the jerseys is $___`; the subject must be clear without context.
_IS_BLANK = re.compile(
    r"(?P<subject>[A-Z]?[A-Za-z0-9 $'’-]*) (?:(?P<costs>costs?|weighs?)|(?:(?:will|would|should|must) (?:therefore )?be"
    r"|is|was|are|were|comes? (?:out )?to|came (?:out )?to|amounts? to|equals?)"
    r"(?: then| now| about)?(?: equal to| worth| a total of)?) ?\$?___%?(?: [a-z]+){0,2}"
)
_NUMBER_OF = frozenset(("total", "number", "cost", "price", "sum", "amount", "half", "twice", "average"))
_NO_SUBJECTS = frozenset(("if", "since", "when", "there", "so", "then", "because", "while", "meaning", "you", "i"))
_JOINING = frozenset(("and", "that", "who", "which", "bought", "sold", "get", "this"))
_EMPTY = INCOMPLETE | PREPOSITIONS | NO_NAMES | AUXILIARIES | BEING | PRONOUNS


def describe_blank(
    before: str, after: str, value: Fraction, stated_numbers: Collection[Fraction], continues: bool = False
) -> str | None:
    """Return `the blank in '…'`, or the blank's subject, for the calculation between the texts `before` and `after`.

    None if the texts do not describe it. `stated_numbers` are the numbers of the question; other numbers might reveal a
    result and become `…`. `continues`: whether `before` begins with the line's previous calculation.
    """
    known_numbers = set(stated_numbers) - {value}
    money = before.rstrip().endswith("$") or after.lstrip().startswith("$")
    head = _SENTENCE.split(strip_formula(before))[-1].strip()
    if continues:
        boundary = _BOUNDARY.search(f"{head} ")
        head = head[boundary.end() :] if boundary else ""
    result = _RESULT.match(after)
    tail = _words_after(after[result.end() if result else 0 :])
    gap = f"{'$' * money}___{result['percent'] if result else ''}"
    if _BECAUSE.search(head):
        text = _blank_result(_BECAUSE.sub("", head), value) or f"{_BECAUSE.sub('', head).rstrip(' ,')}: {gap}"
    else:
        text = f"{_last_words(head)} {gap} {tail}".strip()
    text = " ".join(mask_numbers(_OPENING.sub("", text), known_numbers, "…").split()).rstrip(" ,")
    if (
        not content_words(text)
        or _PLAIN.fullmatch(text.replace("…", "").replace("___", "")) is None
        or variables_in(text)
    ):
        return None
    fraction = f"{value.numerator}/{value.denominator}" in text.replace(" ", "") and value.denominator > 1
    if fraction or value in numbers_in(text, words=True):
        return None
    return _subject(text) or f"the blank in '{text}'"


def _subject(text: str) -> str | None:
    """Return `the tip on lunch` for `The tip on lunch is $___`, `how much the pens cost` for `the pens cost $___`."""
    match = _IS_BLANK.fullmatch(text)
    if match is None or len(words := match["subject"].split()) > MAX_SUBJECT_WORDS or "…" in text:
        return None
    lower, first = {word.lower() for word in words}, words[0].lower()
    if (
        lower & (BEING | _NO_SUBJECTS)
        or {"as", "many"} <= lower
        or not content_words(match["subject"])
        or words[-1].lower() in INCOMPLETE
    ):
        return None
    if first in DETERMINERS | _NUMBER_OF or numbers_in(first, words=True):
        words[0] = first
    subject = " ".join(words)
    if match["costs"]:
        return f"how much {subject} {match['costs']}" if not lower & _JOINING else None
    is_possessive = words[0].endswith(("'s", "’s")) and words[0][0].isupper()
    return subject if first in DETERMINERS | _NUMBER_OF or is_possessive else None


def content_words(text: str) -> set[str]:
    """Return the content words of a text, in lower case."""
    words = (word.rstrip("'’-") for word in re.findall(r"[a-z][a-z'’-]{2,}", text.lower()))
    return {word for word in words if word not in _EMPTY}


def _blank_result(clause: str, value: Fraction) -> str | None:
    """Return the clause with its result replaced by a blank; None if it does not contain the result."""
    for match in _NUMERAL.finditer(clause):
        if read_numeral(match[0]) == value:
            return f"{_last_words(clause[: match.start()])}___{clause[match.end() :]}".rstrip(" ,")
    return None


def _last_words(text: str) -> str:
    """Return the end of the text, from the first boundary after which it is short enough; else its last words."""
    if len(text.split()) <= MAX_BEFORE_WORDS:
        return text
    for match in _BOUNDARY.finditer(text):
        if len(text[match.end() :].split()) <= MAX_BEFORE_WORDS:
            return text[match.end() :]
    return f"… {' '.join(text.split()[-MAX_BEFORE_WORDS:])}"


def _words_after(text: str) -> str:
    end = _END.search(text)
    words = (text[: end.start()] if end else text).split()[:MAX_AFTER_WORDS]
    while words and (words[-1].lower() in INCOMPLETE or words[-1][0].isdigit()):
        words.pop()
    return " ".join(words)
