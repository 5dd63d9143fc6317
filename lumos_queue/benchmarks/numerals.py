"""The numbers a question states, in figures and in words."""

from __future__ import annotations

import re
from fractions import Fraction

_DIGITS = re.compile(r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3}){1,9}|[0-9]{1,30})(?:\.[0-9]{1,30})?(?![0-9])")
_BELOW_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: Fraction(number) for number, word in enumerate(_BELOW_TWENTY.split())}
_WORDS |= {word: Fraction(10 * tens) for tens, word in enumerate(_TENS.split(), start=2)}
_FIGURE_OR_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b|{_DIGITS.pattern}", re.IGNORECASE)


def numbers_in(text: str, words: bool = False) -> list[Fraction]:
    """The numbers in order: those in figures, and with `words` also `zero` to `ninety`. Linear in the length."""
    pattern = _FIGURE_OR_WORD if words else _DIGITS
    found = [match.lower() for match in pattern.findall(text)]
    values = {word: _WORDS[word] if word in _WORDS else Fraction(word.replace(",", "")) for word in set(found)}
    return [values[word] for word in found]
