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
    operand = operands[index]
    for position in (index, index + 1):
        if 0 < position < len(operands) and operands[position].is_divisor:
            if _is_fraction(operands[position - 1], operands[position], question, line):
                return True
    return is_percentage(operands, index, question, line)


def _is_fraction(over: Operand, under: Operand, question: str, line: str) -> bool:
    if over.value.denominator > 1 or under.value.denominator > 1:
        return False
    if re.search(rf"(?<![\d/.]){over.value} ?/ ?{under.value}(?![\d/])", question):
        return True
    if over.value >= under.value:
        return False
    return names_number(question, under.value) or (over.value == 1 and f"1/{under.value}" in line.replace(" ", ""))


def is_percentage(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand is the 20 or the 100 of `20 / 100`, or of `20 * .01`, for the text `20%`."""
    pair = _find_percentage(operands, question, line)
    return pair is not None and index in pair


def _find_percentage(operands: Sequence[Operand], question: str, line: str) -> tuple[int, int] | None:
    """Return the positions of a percentage and of the 100 or .01 that belongs to it."""
    for position, operand in enumerate(operands):
        if operand.is_term or not _is_hundredth(operand):
            continue
        positions = [position - 1, position + 1, *range(position - 2, -1, -1), *range(position + 2, len(operands))]
        for partner in positions:
            if 0 <= partner < len(operands) and not operands[partner].is_term:
                if _is_stated_percentage(operands[partner].value, question, line):
                    return partner, position
    return None


def _is_hundredth(operand: Operand) -> bool:
    return operand.value == Fraction(1, 100) or (operand.value == 100 and operand.is_divisor)


def _is_stated_percentage(value: Fraction, question: str, line: str) -> bool:
    mentions = (*mention_table(question), *find_mentions(line))
    return any(mention.is_percent and abs(100 - mention.value) in (abs(100 - value), value) for mention in mentions)


def weigh_sources(
    operand: Operand,
    sources: Sequence[Source],
    result_unit: frozenset[str],
    line: str,
    line_words: frozenset[str],
    partner_unit: frozenset[str],
) -> list[Weight]:
    """Return the weights of an operand's sources. `partner_unit`: of the number with which it is multiplied."""
    common = frozenset.intersection(*(source.words for source in sources)) if sources else frozenset()
    return [
        _weigh(operand, replace(source, words=source.words - common), result_unit, line, line_words, partner_unit)
        for source in sources
    ]


def _weigh(
    operand: Operand,
    source: Source,
    result_unit: frozenset[str],
    line: str,
    line_words: frozenset[str],
    partner_unit: frozenset[str],
) -> Weight:
    if source.is_constant and (operand.is_divisor or names_number(line, operand.value)):
        return Weight(source, 3, ("word",))
    weight, reasons, is_contradicted = 0, [], False
    if MONEY in source.unit & partner_unit:
        weight += CONTRADICTION
        reasons.append("two amounts of money")
        is_contradicted = True
    if operand.unit & source.unit:
        weight += 3 if operand.unit <= source.unit and MONEY not in operand.unit else 1
        reasons.append(f"unit {_show(operand.unit & source.unit)}")
    elif operand.unit and operand.unit <= source.words:
        weight += 2
        reasons.append(f"words {_show(operand.unit)}")
    elif is_disjoint(operand.unit, source.unit):
        is_sign = bool({MONEY, PERCENT} & (operand.unit | source.unit))
        weight += CONTRADICTION if is_sign else -2
        is_contradicted = is_contradicted or is_sign
        reasons.append(f"no unit {_show(operand.unit)}")
    if operand.is_term and result_unit:
        if result_unit & source.unit:
            weight += 1
            reasons.append(f"result's unit {_show(result_unit & source.unit)}")
        elif is_disjoint(result_unit, source.unit):
            is_sign = {MONEY, PERCENT} & (result_unit | source.unit)
            weight += CONTRADICTION if is_sign else -1
            reasons.append(f"result's unit {_show(result_unit)} differs")
    elif not operand.is_divisor and result_unit & source.unit and not result_unit & partner_unit:
        weight += 1
        reasons.append(f"result's unit {_show(result_unit & source.unit)}")
    words = (operand.words | partner_unit | line_words) & source.words - source.unit - operand.unit
    if words:
        weight += 2 if words & (operand.words | partner_unit) else 1
        reasons.append(f"words {_show(words)}")
    return Weight(source, CONTRADICTION if is_contradicted else weight, tuple(reasons), is_contradicted)


def _show(words: frozenset[str]) -> str:
    return "/".join(sorted(words)[:4])
