"""Decides which sub-questions of a socratic solution belong to their line.

In the published files many sub-questions belong to another line, and some rows have one twice. A sub-question fits if
all of these hold: no other line of the row has it; it is not the question of the whole row, unless its line is the
last; its numbers are in the line; the line's result can have its unit; no neighbouring line has clearly more of its
words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lumos_queue.rationales.maths.calculations import SolutionLine
from lumos_queue.rationales.maths.mentions import MONEY, PERCENT, content_stems, find_stem, read_unit
from lumos_queue.rationales.maths.operands import read_result_unit
from lumos_queue.rationales.word_set import word_set
from lumos_queue.scoring.numerals import numbers_in

CLEAR_LEAD = 2  #: words of a sub-question that another line must have more than its own

_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_PERCENTAGE = re.compile(r"\b(?:what|which) (?:percent|percentage)\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"[A-Za-z0-9.]+")
_FUNCTION_WORDS = word_set("a an the is are was were be do does did will would has have had can could there of in to")
_COINS = frozenset(map(find_stem, ("dollars", "cents", "bucks", "money")))


def find_fitting_questions(lines: Sequence[SolutionLine], question: str) -> list[bool]:
    """Return for each line whether it has a sub-question that belongs to it. `question` is the question of the row."""
    keys = [_key(line.question) for line in lines]
    counts = Counter(keys)
    final = _key(_SENTENCE_END.split(question.strip())[-1])
    words = [content_stems(_own_text(line)) for line in lines]
    return [
        bool(line.question)
        and counts[key] == 1
        and (key != final or index == len(lines) - 1)
        and _has_numbers(line)
        and _has_unit(line)
        and _has_words(content_stems(line.question), words, index)
        for index, (line, key) in enumerate(zip(lines, keys, strict=True))
    ]


def _key(question: str) -> frozenset[str]:
    """Return the stems of a question's words, by which equal questions are recognized."""
    words = (word.lower().strip(".") for word in _WORD.findall(question))
    return frozenset(find_stem(word) for word in words if word not in _FUNCTION_WORDS)


def _own_text(line: SolutionLine) -> str:
    """Return the text of a line without its sub-question."""
    return " ".join(f"{calculation.before} {calculation.after}" for calculation in line.calculations)


def _has_numbers(line: SolutionLine) -> bool:
    """Return whether the line has the numbers of its sub-question."""
    return set(numbers_in(_own_text(line), words=True)).issuperset(numbers_in(_ONE.sub(" ", line.question), words=True))


def _has_unit(line: SolutionLine) -> bool:
    """Return whether the result can have the unit for which the sub-question asks."""
    result_unit = read_result_unit(line.calculations[-1])
    if _PERCENTAGE.search(line.question):
        return not result_unit or PERCENT in result_unit
    match = _HOW_MANY.search(line.question)
    unit = read_unit(line.question, match.end(), match.end()) if match else frozenset()
    if not unit or not result_unit:
        return True
    if MONEY in result_unit:
        return bool(unit & (_COINS | {MONEY}))
    return PERCENT not in result_unit and (bool(unit & result_unit) or bool(unit & content_stems(_own_text(line))))


def _has_words(words: frozenset[str], line_words: Sequence[frozenset[str]], index: int) -> bool:
    """Return whether no neighbouring line has clearly more of a sub-question's words than its own line."""
    own_count = len(words & line_words[index])
    neighbours = [line_words[at] for at in (index - 1, index + 1) if 0 <= at < len(line_words)]
    lead = CLEAR_LEAD if own_count else 1
    return all(len(words & neighbour) < own_count + lead for neighbour in neighbours)
