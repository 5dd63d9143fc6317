"""Finds numbers of a formula that come from nowhere: not from the question, an earlier result or a named constant.

A constant counts if the line of the formula names its unit, because a question about hours may also have 60 guests. A
word that is no unit, such as `half` or `twice`, also counts if it is in the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.link_evidence import is_fixed_literal, mention_table, names_number
from lumos_queue.rationales.maths.operands import Operand
from lumos_queue.rationales.maths.question_numbers import question_numbers


@lru_cache(maxsize=64)
def _stated_numbers(question: str) -> frozenset[Fraction]:
    """Return the numbers of a question, and what follows from percentages and cents in words, `twenty percent`."""
    hundredths = [mention.value / 100 for mention in mention_table(question) if mention.is_percent]
    cents = [mention.value / 100 for mention in mention_table(question) if "cent" in mention.unit]
    shares = (
        number for part in hundredths for number in (part, 1 - part, 1 + part, 100 * (1 - part), 100 * (1 + part))
    )
    return question_numbers(question).numbers.union(shares, cents)


def has_source(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand that is no earlier result is in the question, or a constant that the line names."""
    operand, value = operands[index], abs(operands[index].value)
    if value in _stated_numbers(question) or is_fixed_literal(operands, index, question, line):
        return True
    if names_number(question, value) or names_number(line, value):
        return not operand.is_term  # `twice` multiplies
    if value in find_constants(line):
        return True
    # Fractions in words, `three quarters`, and the whole of which they are parts.
    return (value == 1 or value.denominator > 1) and value in find_constants(question)
