"""Weighs the evidence for the sources of an operand: a number of the question, a constant, or an earlier result.

The evidence is what stands beside the number in the line: its unit, and words that only some of the sources have. `4
lawns x $15` is evidence for the 15 of `charges $15 to mow a lawn`, but not for an earlier result of 15 dollars.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from lumos_queue.rationales.maths.mentions import MONEY, PERCENT, Mention, find_mentions, is_disjoint
from lumos_queue.rationales.maths.operands import Operand
from lumos_queue.scoring.numerals import numbers_in

SIGNS = frozenset((MONEY, PERCENT))
CONTRADICTION = -3  #: weight of units that cannot be equal

#: The numbers of words that are no units: what divides by it, or multiplies by it, may be meant by the word.
_NUMBER_WORDS = {
    2: re.compile(r"\b(?:half|halves|halv\w+|twice|doubl\w+|both|pairs?|couples?|twins?|each way|round[- ]trips?)\b"),
    3: re.compile(r"\b(?:thirds?|thrice|tripl\w+|three times)\b"),
    4: re.compile(r"\b(?:fourths?|quarters?|quadrupl\w+)\b"),
    5: re.compile(r"\bfifths?\b"),
    6: re.compile(r"\bsixths?\b"),
    7: re.compile(r"\bsevenths?\b"),
    8: re.compile(r"\beighths?\b"),
    9: re.compile(r"\bninths?\b"),
    10: re.compile(r"\btenths?\b"),
    12: re.compile(r"\bdozens?\b"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A possible origin of an operand."""

    result: int = 0  #: the number of an earlier result; 0: a literal
    unit: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    is_constant: bool = False
    is_mention: bool = False  #: whether it is a number of the question's text that is no percentage
    is_percent: bool = False  #: whether a result is a percentage
    is_hundredfold: bool = False  #: whether the operand is a hundredth of the result: 0.6 for 60 per cent
    is_copy: bool = False  #: whether the result's calculation is a number alone, `First hour: 13`


@dataclass(frozen=True, slots=True)
class Weight:
    """A source with the weight of its evidence. `reasons` are short texts, such as `unit hour`."""

    source: Source
    weight: int
    reasons: tuple[str, ...] = ()
    is_contradicted: bool = False  #: whether units of money, per cent and things cannot be equal


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What stands beside an operand's calculation, and beside the operand in its formula."""

    line: str
    words: frozenset[str]  #: that describe the calculation
    result_unit: frozenset[str]
    partner_unit: frozenset[str]  #: of the number with which the operand is multiplied


@lru_cache(maxsize=64)
def mention_table(text: str) -> tuple[Mention, ...]:
    """Return the mentions of numbers in a question or a line."""
    return tuple(find_mentions(text))


def names_number(text: str, value: Fraction) -> bool:
    """Return whether a text has a word for a number that is no unit: `half` or `twice` for 2."""
    return value in _find_number_words(text)


@lru_cache(maxsize=256)
def _find_number_words(text: str) -> frozenset[int]:
    """Return the numbers of _NUMBER_WORDS for which a text has a word."""
    return frozenset(number for number, pattern in _NUMBER_WORDS.items() if pattern.search(text.lower()))


def is_fixed_literal(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand is part of a fraction or a percentage of the question: `3/4`, `20/100`."""
    divisors = [position for position in (index, index + 1) if 0 < position < len(operands)]
    return is_percentage(operands, index, question, line) or any(
        operands[position].is_divisor and _is_fraction(operands[position - 1], operands[position], question, line)
        for position in divisors
    )


def _is_fraction(over: Operand, under: Operand, question: str, line: str) -> bool:
    if over.value.denominator > 1 or under.value.denominator > 1:
        return False
    if re.search(rf"(?<![\d/.]){over.value} ?/ ?{under.value}(?![\d/])", question):
        return True
    if over.value >= under.value or not names_number(question, under.value):
        return False
    return over.value == 1 or over.value in numbers_in(question, words=True)


def is_percentage(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand is the 20 or the 100 of `20 / 100`, or of `20 * .01`, for the text `20%`."""
    pair = _find_percentage(operands, question, line)
    return pair is not None and index in pair


def _find_percentage(operands: Sequence[Operand], question: str, line: str) -> tuple[int, int] | None:
    """Return the positions of a percentage and of the 100 or .01 that belongs to it."""
    hundredths = [index for index, operand in enumerate(operands) if not operand.is_term and _is_hundredth(operand)]
    if not hundredths:
        return None
    stated_values = _find_percentages(question) | _find_percentages(line)
    partners = [
        index
        for index, operand in enumerate(operands)
        if not operand.is_term and stated_values & {operand.value, abs(100 - operand.value)}
    ]
    for position in hundredths:
        others = [partner for partner in partners if partner != position]
        if others:  # the next one, else the one before it, and so on
            return min(others, key=lambda partner: _rank_partner(partner, position)), position
    return None


def _rank_partner(partner: int, position: int) -> tuple[int, int]:
    """Return the order of partners: the neighbours, then those before from right to left, then those after."""
    if abs(partner - position) == 1:
        return 0, partner
    return (1, position - partner) if partner < position else (2, partner)


def _is_hundredth(operand: Operand) -> bool:
    return operand.value == Fraction(1, 100) or (operand.value == 100 and operand.is_divisor)


@lru_cache(maxsize=256)
def _find_percentages(text: str) -> frozenset[Fraction]:
    """Return the distance from 100 of each percentage in a text: 20 % may be meant by 80 and by 120."""
    return frozenset(abs(100 - mention.value) for mention in mention_table(text) if mention.is_percent)


def weigh_sources(operand: Operand, sources: Sequence[Source], neighbours: Neighbours) -> list[Weight]:
    """Return the weights of an operand's sources. Words that all sources have are no evidence."""
    common = frozenset.intersection(*(source.words for source in sources)) if sources else frozenset()
    return [_weigh(operand, replace(source, words=source.words - common), neighbours) for source in sources]


def _weigh(operand: Operand, source: Source, neighbours: Neighbours) -> Weight:
    if source.is_constant and (operand.is_divisor or names_number(neighbours.line, operand.value)):
        return Weight(source, 3, ("word",))
    parts = [
        _weigh_unit(operand, source),
        _weigh_result_unit(operand, source, neighbours),
        _weigh_words(operand, source, neighbours),
    ]
    is_money_twice = MONEY in source.unit & neighbours.partner_unit
    if is_money_twice:
        parts.insert(0, (CONTRADICTION, "two amounts of money"))
    is_contradicted = is_money_twice or _contradicts(operand, source)
    weight = CONTRADICTION if is_contradicted else sum(weight for weight, _ in parts)
    return Weight(source, weight, tuple(reason for _, reason in parts if reason), is_contradicted)


def _contradicts(operand: Operand, source: Source) -> bool:
    """Return whether a thing would be an amount of money or a percentage."""
    if operand.unit <= source.words and operand.unit:
        return False
    return is_disjoint(operand.unit, source.unit) and bool(SIGNS & (operand.unit | source.unit))


def _weigh_unit(operand: Operand, source: Source) -> tuple[int, str]:
    """Compare the unit beside the number in the line with that of the source."""
    if common := operand.unit & source.unit:
        return (3 if operand.unit <= source.unit and MONEY not in operand.unit else 1), f"unit {_show(common)}"
    if operand.unit and operand.unit <= source.words:
        return 2, f"words {_show(operand.unit)}"
    if is_disjoint(operand.unit, source.unit):
        return -2, f"no unit {_show(operand.unit)}"
    return 0, ""


def _weigh_result_unit(operand: Operand, source: Source, neighbours: Neighbours) -> tuple[int, str]:
    """Compare the unit of the result with that of the source: the terms of a sum have it, and a factor may have it."""
    unit = neighbours.result_unit
    common = unit & source.unit
    if operand.is_term:
        if is_disjoint(unit, source.unit):
            weight = CONTRADICTION if SIGNS & (unit | source.unit) else -1
            return weight, f"result's unit {_show(unit)} differs"
    elif operand.is_divisor or unit & neighbours.partner_unit:
        return 0, ""
    return (1, f"result's unit {_show(common)}") if common else (0, "")


def _weigh_words(operand: Operand, source: Source, neighbours: Neighbours) -> tuple[int, str]:
    """Compare the words of the line with those of the source. Words that are near to the number count more."""
    near_words = operand.words | neighbours.partner_unit
    words = (near_words | neighbours.words) & source.words - source.unit - operand.unit
    return (2 if words & near_words else 1, f"words {_show(words)}") if words else (0, "")


def _show(words: frozenset[str]) -> str:
    return "/".join(sorted(words)[:4])
