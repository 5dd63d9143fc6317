"""Writes words in place of numbers that a subgoal may not reveal: `that many eggs` for `18 eggs`."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.scoring.numerals import mask_numbers

_MASK = "\0"
_NAMES = "day|week|month|year|hour|minute|person|round|game|step|page|grade|room|team|group|level|trip|week|shift"
#: Applied in this order. A determiner alone stands for the number: `the 18 eggs` becomes `the eggs`.
_WORDINGS = tuple(
    (re.compile(pattern.replace("#", _MASK), re.IGNORECASE), words)
    for pattern, words in (
        (r"#(?: ?[-+*/x×÷=]? ?\$?#)+", _MASK),  # a formula
        (r"(?:\ban? )?(?:#|[0-9.]+)/(?:#|[0-9.]*#)|#/[0-9.]+", "that fraction"),
        (r"(?:\b(?:the|an?) )?#(?:st|nd|rd|th)\b", "that"),
        (r"(?:\ban? )?#(?: ?%| percent\b)", "that percentage"),
        (r"\b(the|his|her|their|its|our|those|these|all|'s|’s) \$ ?# (?=[a-z])", r"\1 "),
        (r"(?:\ban? )?\$ ?#(?![\w/])", "that amount"),
        (r"\$ ?#", "that amount"),
        (rf"\b({_NAMES}) #(?! ?\w)", r"that \1"),
        (rf"\b({_NAMES}) #(?= (?:he|she|they|it|was|is|there)\b)", r"that \1"),
        (r"\b(the|his|her|their|its|our|those|these|all|remaining|other|both|'s|’s) #-?(?=\s*[a-z])", r"\1 "),
        (r"#-[a-z]+ ?", ""),
        (r"(?:\ban? )?#(?= ?[a-z])", "that many "),
        (r"#", "that number"),
    )
)


def word_cut_numbers(text: str, known_numbers: Collection[Fraction]) -> str:
    """Return the text with words in place of the numbers that are not in `known_numbers`."""
    text = mask_numbers(text.replace(_MASK, " "), known_numbers, _MASK)
    if _MASK not in text:
        return text
    for pattern, words in _WORDINGS:
        text = pattern.sub(words, text)
    return re.sub(r"[ \t]{1,40}", " ", text)
