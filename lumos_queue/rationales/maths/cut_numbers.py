"""Writes words in place of numbers that a subgoal may not reveal: `that many eggs` for `18 eggs`."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.scoring.numerals import mask_numbers

_MASK = "\0"
#: Numbers that name a day, and words for constants, are no results: `on day 3`, `the 2nd week`, `a dozen`.
_ORDINAL = re.compile(
    r"\b(?:day|week|month|year|hour|round|game|step|page|grade|room|team|group|level|trip|shift|part|stage|box|bus|number)"
    r" [0-9]{1,2}\b(?![.,/%]?[0-9])(?! ?[-+*/x×])|\b[0-9]{1,3}(?:st|nd|rd|th)\b"
    r"|\b(?:an?|per|half a) dozen\b|\bhalf an?\b",
    re.IGNORECASE,
)
#: Applied in this order. A determiner alone stands for the number: `the 18 eggs` becomes `the eggs`.
_WORDINGS = tuple(
    (re.compile(pattern.replace("#", _MASK), re.IGNORECASE), words)
    for pattern, words in (
        (r"(?:\ban? )?(?:#|(?<![0-9.])[0-9.]++)/[0-9.]*+#|#/[0-9.]++", "that fraction"),
        (r"#(?: ?[-+*/x×÷=]? ?\$?#)+", _MASK),  # a formula
        (r"(?:\b(?:the|an?) )?#(?:st|nd|rd|th)\b", "that"),
        (r"(?:\ban? )?#(?: ?%| percent\b)", "that percentage"),
        (r"\b(the|his|her|their|its|our|those|these|all|'s|’s) \$ ?# (?=[a-z])", r"\1 "),
        (r"(?:\ban? )?\$ ?#(?![\w/])", "that amount"),
        (r"\$ ?#", "that amount"),
        (
            r"\b(the|his|her|their|its|our|those|these|all|other|both|first|second|last|next|'s|’s) #-?(?=\s*[a-z])",
            r"\1 ",
        ),
        (r"#-[a-z]+ ?", ""),
        (r"(?:\ban? )?#(?= ?[a-z])", "that many "),
        (r"#", "that number"),
    )
)


def word_cut_numbers(text: str, known_numbers: Collection[Fraction]) -> str:
    """Return the text with words in place of the numbers that are not in `known_numbers`."""
    text, parts, start = text.replace(_MASK, " "), list[str](), 0
    for ordinal in _ORDINAL.finditer(text):
        parts += [mask_numbers(text[start : ordinal.start()], known_numbers, _MASK), ordinal[0]]
        start = ordinal.end()
    text = "".join((*parts, mask_numbers(text[start:], known_numbers, _MASK)))
    if _MASK not in text:
        return text
    for pattern, words in _WORDINGS:
        text = pattern.sub(words, text)
    return re.sub(r"[ \t]{1,40}", " ", text)
