"""Numbers in words: `twenty-one`, `two hundred and fifty`, `three million`, `a hundred`."""

from __future__ import annotations

import re
from fractions import Fraction

_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_SMALL = {word: number for number, word in enumerate(_NAMES.split())}
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))  # noqa: SIM905
SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "quadrillion": 10**15,
    "quintillion": 10**18,
    "milliard": 10**9,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
    "bn": 10**9,
    "mn": 10**6,
    "mln": 10**6,
}
_PARTS = "half halves third thirds quarter quarters fifth fifths sixth sixths eighth eighths tenth tenths".split()  # noqa: SIM905
_OTHERS = "hundredth hundredths thousandth thousandths mil mio thou score gross sextillion myriad".split()  # noqa: SIM905
#: A unit with one of these words is a part of the number that was not read.
# `second` is left out: it is a unit
NUMBER_WORDS = frozenset([*_SMALL, *_TENS, *SCALES, *(f"{word}s" for word in SCALES), *_PARTS, *_OTHERS])

_WORD = re.compile(r"[\s-]*([a-z]+)\b", re.IGNORECASE)


def read_spelled(text: str) -> tuple[Fraction | None, str]:
    """Return the number at the start of a text and the rest of the text; None as the number if there is none.

    Words are read as long as they form one number: the number in `nineteen ninety` is nineteen.
    """
    total, group, before, smallest, position = 0, None, "", 0, 0
    while match := _WORD.match(text, position):
        word = match[1].lower()
        if word == "and" and before in ("hundred", "scale"):
            next_match = _WORD.match(text, match.end())
            if not next_match or next_match[1].lower() not in _SMALL | _TENS:
                break
        elif word in ("a", "an") and not position:
            next_match = _WORD.match(text, match.end())
            if not next_match or next_match[1].lower() not in SCALES:
                break
            group, before = 1, "small"
        elif word in _SMALL and (before in ("", "hundred", "scale") or (before == "tens" and 0 < _SMALL[word] < 10)):
            group, before = (group or 0) + _SMALL[word], "small"
        elif word in _TENS and before in ("", "hundred", "scale"):
            group, before = (group or 0) + _TENS[word], "tens"
        elif word == "hundred" and group and before in ("small", "tens"):
            group, before = group * 100, "hundred"
        elif word in SCALES and word != "hundred" and group and (not smallest or SCALES[word] < smallest):
            total, group, before, smallest = total + group * SCALES[word], None, "scale", SCALES[word]
        else:
            break
        position = match.end()
    return (Fraction(total + (group or 0)), text[position:]) if position else (None, text)
