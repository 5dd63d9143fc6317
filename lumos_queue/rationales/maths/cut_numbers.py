"""Writes words in place of numbers that a subgoal may not reveal: `that many eggs` for `18 eggs`."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.scoring.numerals import mask_numbers

_MASK, _GUARD = "\0", "\1"
_DOZEN = re.compile(r"\bdozens?\b", re.IGNORECASE)
ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
]
#: Numbers that name a day are no results, and are written as words: `on day 3`, `the 3rd day`.
_NAME = re.compile(
    r"\b(?P<name>day|week|month|year|hour|round|game|step|grade|level|trip|shift|part|stage) (?P<number>[0-9]{1,2})\b"
    r"(?![.,/%]?[0-9])(?! ?[-+*/x×])|(?<![\w.,])(?P<ordinal>[0-9]{1,2})(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)
_ONE_ALONE = re.compile(r"\b(each|every|another|this|that|other|the|which) (?:1|one)\b(?![.,/%:]?[0-9])", re.IGNORECASE)
_VOWELS = ("a", "e", "i", "o", "hour", "hon")
_ONE_NOUN = re.compile(
    r"(?<![\w.,$/*+=–-])(?<![*+=/–-] )(?:1|one|One) (?=(hour|hon|[a-z]))(?!(?:of|or|to|and|is|was|more)\b)"
)
#: Applied in this order. A determiner alone stands for the number: `the 18 eggs` becomes `the eggs`.
_WORDINGS = tuple(
    (re.compile(pattern.replace("#", _MASK), re.IGNORECASE), words)
    for pattern, words in (
        (r"(?:\ban? )?(?:#|(?<![0-9.])[0-9.]++)/[0-9.]*+#|#/[0-9.]++", "that fraction"),
        (r"#(?: ?[-+*/x×÷=]? ?\$?#)+", _MASK),  # a formula
        (r"#-[a-z]+(?:-old)? ?", ""),
        (r"(?:\b(?:the|an?) )?#(?:st|nd|rd|th)\b", "that"),
        (r"(?:\ban? )?#(?: ?%| percent\b)", "that percentage"),
        (r"\b(the|his|her|their|its|our|those|these|all|'s|’s) \$ ?# (?=[a-z])", r"\1 "),
        (r"(?:\ban? )?\$ ?#(?![\w/])", "that amount"),
        (r"\$ ?#", "that amount"),
        (
            r"\b(the|his|her|their|its|our|those|these|all|other|both|first|second|last|next|'s|’s) #-?(?=\s*[a-z])",
            r"\1 ",
        ),
        (r"(?:\ban? )?#(?= ?[a-z])", "that many "),
        (r"#", "that number"),
    )
)


def word_cut_numbers(text: str, known_numbers: Collection[Fraction]) -> str:
    """Return the text with words in place of the numbers that are not in `known_numbers`."""
    text = _NAME.sub(lambda match: _word_name(match, known_numbers), text.replace(_MASK, " ").replace(_GUARD, " "))
    if 1 not in known_numbers:
        text = _ONE_ALONE.sub(r"\1", text)
        text = _ONE_NOUN.sub(lambda match: "an " if match[1] in _VOWELS else "a ", text)
    text = _DOZEN.sub(lambda match: match[0][0] + _GUARD + match[0][1:], text)  # a unit, no result
    text = mask_numbers(text, known_numbers, _MASK).replace(_GUARD, "")
    if _MASK not in text:
        return text
    for pattern, words in _WORDINGS:
        text = pattern.sub(words, text)
    return re.sub(r"[ \t]{1,40}", " ", text)


def _word_name(match: re.Match, known_numbers: Collection[Fraction]) -> str:
    """Return `the third day` for `day 3`, and `third` for `3rd`; a known or a large number stays."""
    number = int(match["number"] or match["ordinal"])
    if number in known_numbers or not 1 <= number <= len(ORDINALS):
        return match[0]
    if match["ordinal"]:
        return ORDINALS[number - 1]
    name = match["name"]
    return f"{'The' if name[0].isupper() else 'the'} {ORDINALS[number - 1]} {name.lower()}"
