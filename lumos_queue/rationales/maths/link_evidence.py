"""Weighs the evidence for the sources of an operand: a number of the question, a constant, or an earlier result.

The evidence is what stands beside the number in the line: its unit, and words that only one of the sources has. `4 lawns
x $15` is evidence for the 15 of `charges $15 to mow a lawn`, and none for an earlier result of 15 dollars of allowance.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from lumos_queue.rationales.maths.mentions import MONEY, PERCENT, Mention, find_mentions, is_disjoint
from lumos_queue.rationales.maths.operands import Operand

CONTRADICTION = -3  #: weight of units that cannot be equal
MAX_WORDS = 2  #: that count

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
    is_percent: bool = False  #: whether the question has the number only as a percentage


@dataclass(frozen=True, slots=True)
class Weight:
    """A source with the weight of its evidence. `reasons` are short texts, such as `unit hour`."""

    source: Source
    weight: int
    reasons: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def mention_table(question: str) -> tuple[Mention, ...]:
    """Return the mentions of numbers in a question."""
    return tuple(find_mentions(question))


def names_number(text: str, value: Fraction) -> bool:
    """Return whether a text has a word for a number that is no unit: `half` or `twice` for 2."""
    pattern = _NUMBER_WORDS.get(int(value)) if value.denominator == 1 else None
    return pattern is not None and pattern.search(text.lower()) is not None


def is_fixed_literal(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand is part of a fraction or a percentage that is written out: `3/4`, `20/100`, `1/n`."""
    pairs = []
    if index and operands[index].sign == "/":
        pairs.append((operands[index - 1], operands[index]))
    if index + 1 < len(operands) and operands[index + 1].sign == "/":
        pairs.append((operands[index], operands[index + 1]))
    if any(_is_fraction(over, under, question, line) for over, under in pairs):
        return True
    neighbours = [operands[position] for position in (index - 1, index + 1) if 0 <= position < len(operands)]
    hundredth = Fraction(1, 100)
    return any(
        hundredth in (operands[index].value, neighbour.value)
        and _is_percentage(operands[index].value if neighbour.value == hundredth else neighbour.value, question, line)
        for neighbour in neighbours
        if "*" in (operands[index].sign, neighbour.sign)
    )


def _is_fraction(over: Operand, under: Operand, question: str, line: str) -> bool:
    if over.value.denominator > 1 or under.value.denominator > 1:
        return False
    if under.value == 100:
        return _is_percentage(over.value, question, line)
    if re.search(rf"(?<![\d/.]){over.value} ?/ ?{under.value}(?![\d/])", question):
        return True
    if over.value >= under.value:
        return False
    return names_number(question, under.value) or (over.value == 1 and f"1/{under.value}" in line.replace(" ", ""))


def _is_percentage(value: Fraction, question: str, line: str) -> bool:
    return any(mention.value == value and mention.is_percent for mention in (*mention_table(question), *find_mentions(line)))


def weigh_sources(operand: Operand, sources: Sequence[Source], result_unit: frozenset[str], line: str, line_words: frozenset[str]) -> list[Weight]:
    """Return the weights of an operand's sources."""
    common = frozenset.intersection(*(source.words for source in sources)) if sources else frozenset()
    return [_weigh(operand, replace(source, words=source.words - common), result_unit, line, line_words) for source in sources]


def _weigh(operand: Operand, source: Source, result_unit: frozenset[str], line: str, line_words: frozenset[str]) -> Weight:
    weight, reasons = 0, []
    if source.is_constant and names_number(line, operand.value):
        return Weight(source, 2, ("word",))
    if operand.unit & source.unit:
        weight += 1 if MONEY in operand.unit else 3
        reasons.append(f"unit {_show(operand.unit & source.unit)}")
    elif is_disjoint(operand.unit, source.unit):
        weight += CONTRADICTION
        reasons.append(f"no unit {_show(operand.unit)}")
    if operand.is_term and result_unit:
        if result_unit & source.unit:
            weight += 1
            reasons.append(f"result's unit {_show(result_unit & source.unit)}")
        elif is_disjoint(result_unit, source.unit):
            is_sign = {MONEY, PERCENT} & (result_unit | source.unit)
            weight += CONTRADICTION if is_sign else -1
            reasons.append(f"result's unit {_show(result_unit)} differs")
    words = (operand.words | line_words) & source.words - source.unit
    if words:
        weight += min(len(words), MAX_WORDS)
        reasons.append(f"words {_show(words)}")
    return Weight(source, weight, tuple(reasons))


def _show(words: frozenset[str]) -> str:
    return "/".join(sorted(words)[:4])
