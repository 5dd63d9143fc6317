"""Scale words after a number, which change the number: `12 thousand`, `12K`, `2 dozens`, `3 quarters`.

Scale words are not units. Their factor is certain for the full words (`hundred` to `trillion`, `dozen`, `lakh`,
`crore`, also plural), for their abbreviations (`mn`, `bn`, `tn`), for a `K` or `k` that touches the number, for a `k`
alone, and in an amount of money also for `m`, `b` and `t` that touch the number (`$12m`). The factor is uncertain, so
that no number is read, for

- `5 tens`, and parts (`3 quarters`, which may be coins, `2 thirds of`, `3 and a half`); but `12 third graders` is 12;
- `M`, `B` and `T`, in an amount of money also in lower case; `K` with further words (`12 K dollars`);
- `grand`, `gross`, `score` and `mil` if no noun follows;
- a scale word as the second word (`12 full dozens`).

A `K` after a space with nothing after it is kelvin, a unit: `300 K`. Parts in brackets name the counted things:
`9 (quarters)`.
"""

from __future__ import annotations

import re
from fractions import Fraction

_FULL = {
    "hundred": 10**2,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
}
SCALES = _FULL | {f"{word}s": factor for word, factor in _FULL.items()}
SCALES |= {"mn": 10**6, "mln": 10**6, "mio": 10**6, "bn": 10**9, "bln": 10**9, "tn": 10**12}
_LETTERS = {"m": 10**6, "b": 10**9, "t": 10**12}  #: of an amount of money
_ORDINALS = (
    *("third", "fourth", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "twelfth", "sixteenth"),
    *("twentieth", "hundredth", "thousandth", "millionth"),
)
_PARTS = frozenset(("tens", "half", "halves", *(f"{word}s" for word in _ORDINALS)))
#: They make another number where no noun follows: `1 third of it`, but `12 third graders`.
_WITHOUT_NOUN = frozenset((*_ORDINALS, "grand", "gross", "score", "mil"))
_WORD = re.compile(r"([ \t(-]{0,8})([^\W\d_]{1,40})(?![^\W\d_])")
_NOUN = re.compile(r"[ \t-]{1,8}(?!of\b)[^\W\d_]")
_AND_PART = re.compile(r"[ \t]{1,8}(?:and|&)[ \t]{1,8}(?:an?|one)[ \t-]{1,8}([^\W\d_]{1,20})", re.IGNORECASE)
_MOST = 3  #: scale words in a row


def read_scale(text: str, start: int = 0, money: bool = False) -> tuple[Fraction | None, int]:
    """Return the factor by which the words from `start` on multiply the number before them, and the end of the words.

    The factor is 1 if the words do not change the number, and None if it is uncertain. `money`: whether a currency sign
    precedes the number.
    """
    if (part := _AND_PART.match(text, start)) and (part[1].lower() in _PARTS | _WITHOUT_NOUN):
        return None, part.end()
    factor, end = Fraction(1), start
    for position in range(_MOST):
        word = _WORD.match(text, end)
        if word is None:
            break
        scale = _scale_of(text, word, money)
        if scale is None:
            return None, word.end()
        if scale == 1:
            second = _WORD.match(text, word.end()) if position == 0 else None
            return (None, second.end()) if second and second[2].lower() in SCALES else (factor, end)
        factor, end = factor * scale, word.end()
    return factor, end


def _scale_of(text: str, word: re.Match[str], money: bool) -> int | None:
    """Return the factor of a word; 1 for a unit, None if it is uncertain."""
    letters, lower, touches = word[2], word[2].lower(), not word[1]
    if len(letters) == 1:
        if letters == "k" or (letters == "K" and (touches or money)):
            return 1000
        if letters == "K":
            return None if _NOUN.match(text, word.end()) else 1
        if lower in _LETTERS and money and touches and text[word.end() : word.end() + 1] != "$":
            return _LETTERS[lower]
        return None if letters in "MBT" or (lower in _LETTERS and money) else 1
    if lower in SCALES:
        return SCALES[lower]
    if "(" in word[1]:
        return 1
    if lower in _PARTS or (lower in _WITHOUT_NOUN and not _NOUN.match(text, word.end())):
        return None
    return 1
