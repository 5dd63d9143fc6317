"""Decides which sub-questions of a socratic solution belong to their line.

In the published files many sub-questions belong to another line, and some rows have one twice. A sub-question fits if
all of these hold: no other line of the row has it; it is not the question of the whole row, unless its line is the
last; its numbers are in the line; the line's result has its unit; the line has all its words but names, and it has
the words after the result. Otherwise the line itself is the better description.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lumos_queue.rationales.maths.calculations import SolutionLine
from lumos_queue.rationales.maths.clauses import words_of_clause
from lumos_queue.rationales.maths.mentions import MONEY, PERCENT, content_stems, find_stem, read_unit
from lumos_queue.rationales.maths.operands import read_result_unit
from lumos_queue.rationales.word_set import word_set
from lumos_queue.scoring.numerals import numbers_in

_HOW_MANY = re.compile(r"\bhow many\b", re.IGNORECASE)
_PERCENTAGE = re.compile(r"\b(?:what|which) (?:percent|percentage)\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_WORD = re.compile(r"[A-Za-z0-9.]+")
_FUNCTION_WORDS = word_set("a an the is are was were be do does did will would has have had can could there of in to")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_LAST_NUMBER = re.compile(r"^\s*+\$?\s*+-?[0-9.,/]*+")
_SHARE = re.compile(r"\b(?:each|every|per|total|altogether|all|entire|whole|together|twice|half)\b")
_COINS = frozenset(map(find_stem, ("dollars", "cents", "bucks", "money")))


def find_fitting_questions(lines: Sequence[SolutionLine], question: str) -> list[bool]:
    """Return for each line whether it has a sub-question that belongs to it. `question` is the question of the row."""
    keys = [_key(line.question) for line in lines]
    counts = Counter(keys)
    final = _key(_SENTENCE_END.split(question.strip())[-1])
    return [
        bool(line.question)
        and counts[key] == 1
        and (key != final or index == len(lines) - 1)
        and _has_numbers(line)
        and _has_unit(line)
        and _has_same_words(line)
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
    """Return whether the result has the unit for which the sub-question asks. An unknown unit counts as any."""
    result_unit = read_result_unit(line.calculations[-1])
    if _PERCENTAGE.search(line.question):
        return not result_unit or PERCENT in result_unit
    match = _HOW_MANY.search(line.question)
    unit = read_unit(line.question, match.end(), match.end()) if match else frozenset()
    if not unit or not result_unit:
        return True
    if MONEY in result_unit:
        return bool(unit & (_COINS | {MONEY}))
    return unit <= result_unit or result_unit <= unit


def _has_same_words(line: SolutionLine) -> bool:
    """Return whether the line has all words of its sub-question but names, and the sub-question those after the result.

    `per day` after the result, or `each` in the sub-question alone, make another quantity of it.
    """
    names = content_stems(" ".join(_NAME.findall(line.question)))
    words, own_words = content_stems(line.question), content_stems(_own_text(line))
    after = content_stems(words_of_clause(_LAST_NUMBER.sub("", line.calculations[-1].after)))
    shares, own_shares = (frozenset(_SHARE.findall(text.lower())) for text in (line.question, _own_text(line)))
    return words - names <= own_words and after <= words and shares <= own_shares
