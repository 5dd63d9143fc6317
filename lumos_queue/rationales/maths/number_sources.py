"""Finds numbers of a formula that come from nowhere: not from the question, an earlier result or a named constant.

A constant counts if the line of the formula names its unit, because a question about hours may also have 60 guests. A
word that is no unit, such as `half` or `twice`, also counts if it is in the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.link_evidence import is_fixed_literal, mention_table, names_number
from lumos_queue.rationales.maths.operands import Operand
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.scoring.numerals import numbers_in

_FRACTION = re.compile(r"(?<![\w./])([0-9]{1,30})/([0-9]{1,30})(?![\w/])")


@lru_cache(maxsize=64)
def _stated_numbers(question: str) -> frozenset[Fraction]:
    """Return the numbers of a question, also those of percentages, cents and fractions in another form.

    20 % more is 1.2 times. What another calculation gives is not stated, such as the 3/4 that 1/4 leaves.
    """
    numbers, mentions = question_numbers(question), mention_table(question)
    hundredths = {mention.value / 100 for mention in mentions if mention.is_percent}
    hundredths.update(value / 100 for value in numbers.percent)
    changes = {
        number for part in hundredths for number in (part, 1 - part, 1 + part, 100 - 100 * part, 100 + 100 * part)
    }
    cents = {mention.value / 100 for mention in mentions if "cent" in mention.unit}
    parts = [(int(over), int(under)) for over, under in _FRACTION.findall(question) if int(under)]
    fractions = {Fraction(over, under) for over, under in parts}
    rests = {number for over, under in parts for number in (1 - Fraction(over, under), Fraction(under - over))}
    return numbers.numbers.difference(rests).union(numbers.free, numbers.fixed, changes, cents, fractions)


def has_source(operands: Sequence[Operand], index: int, question: str, line: str) -> bool:
    """Return whether an operand that is no earlier result is in the question, or a constant that the line names."""
    operand, value = operands[index], abs(operands[index].value)
    if value in _stated_numbers(question) or is_fixed_literal(operands, index, question, line):
        return True
    if names_number(question, value) or names_number(line, value):
        return not operand.is_term  # `twice` multiplies
    return _names_constant(line, value) or (value.denominator > 1 and _names_constant(question, value))


def _names_constant(text: str, value: Fraction) -> bool:
    """Return whether words of a text imply a constant. `A third` implies 1/3, but only `two thirds` imply 2/3."""
    if value not in find_constants(text):
        return False
    is_part = value.denominator > 1 and value.numerator > 1 and value < 1
    return not is_part or value.numerator in numbers_in(text, words=True)
