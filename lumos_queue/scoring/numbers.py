"""Convert numeric text to exact rationals and back: `$1,234.50`, `3/4`, `1 3/4`, `½`, `25%`, `12 cm`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

MAX_TEXT = 10_000  #: characters of a text that are looked at
MAX_DIGITS = 600  #: digits of one numeral
MAX_EXPONENT = 400  #: of scientific notation
MAX_DECIMALS = 40  #: places behind the point that are written out; past that a fraction is shorter

CURRENCY = "$€£¥₹¢"
MINUS_SIGNS = "−–﹣-‐‑"
VULGAR_FRACTIONS = {
    character: f"{over}/{under}"
    for character, over, under in zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", "112131234151357", "233445555668888", strict=True)
}

#: One character for one meaning.
PLAIN_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys(CURRENCY),
        **dict.fromkeys(MINUS_SIGNS, "-"),
        **VULGAR_FRACTIONS,
        **{"⁄": "/", "∕": "/", "÷": "/", "\u00a0": " ", "\u202f": " ", "\u2009": " "},
    }
)

_AFTER_DIGIT = re.compile(rf"(?<=[0-9])(?=[{''.join(VULGAR_FRACTIONS)}]|\\[dt]?frac)")  # `1½` is `1 1/2`
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\{(\d{1,600})\}\{(\d{1,600})\}")
_NUMERAL = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<whole>{_NUMERAL})(?:"
    rf"[eE](?P<exponent>[+-]?[0-9]+)(?!\w)"
    rf"|[ ]?/[ ]?(?P<under>{_NUMERAL})"
    rf"|[ ]+(?P<over>[0-9]+)/(?P<parts>[0-9]+)"
    rf")?[ ]?(?P<percent>%)?"
)


def parse_number(text: str, percent: Literal["strip", "divide"] = "strip") -> Fraction | None:
    """Return the first number of the text, exactly; None without a readable number.

    Currency signs, units and thousands separators are ignored. A number that directly follows a letter (`R2`) is part
    of a name and does not count. `25%` is 25, or 1/4 with percent='divide'.
    """
    text = plain_text(text[:MAX_TEXT])
    match = _NUMBER.search(text)
    if match is None:
        return None
    value = read_numeral(match["whole"])
    if value is None:
        return None
    if match["exponent"]:
        if len(match["exponent"]) > 4 or abs(exponent := int(match["exponent"])) > MAX_EXPONENT:
            return None
        value *= Fraction(10) ** exponent
    elif match["under"]:
        under = read_numeral(match["under"])
        if not under:
            return None
        value /= under
    elif match["over"]:
        over, parts = read_numeral(match["over"]), read_numeral(match["parts"])
        if over is not None and parts and value.denominator == 1 and over < parts:
            value += over / parts
    if match["percent"] and percent == "divide":
        value /= 100
    return -value if _is_negative(text, match.start()) else value


def plain_text(text: str) -> str:
    """Return the text without currency signs, with ASCII minus signs; fractions are written `a/b`."""
    return _LATEX_FRACTION.sub(r"\1/\2", _AFTER_DIGIT.sub(" ", text)).translate(PLAIN_CHARACTERS)


def _is_negative(text: str, start: int) -> bool:
    """Whether a minus sign, and not a subtraction or a hyphen, precedes the number at `start`."""
    before = text[max(0, start - 3) : start]
    if before.endswith("-"):
        return len(before) == 1 or not (before[-2].isalnum() or before[-2] in ")%")
    return text[:start].strip() == "-"


def read_numeral(digits: str) -> Fraction | None:
    """Return `1,234.50` as a fraction; None if it is too long. `digits` must look like a numeral."""
    if len(digits) > MAX_DIGITS:
        return None
    whole, _, decimals = digits.replace(",", "").partition(".")
    return Fraction(int(whole + decimals or "0"), 10 ** len(decimals))


def show_number(value: Fraction, decimal: bool) -> str:
    """Return a number as text: `3/2` as `1.5` if `decimal` and it needs at most 40 places, else as `3/2`."""
    if value.denominator == 1:
        return str(value.numerator)
    decimals = decimal_places(value.denominator) if decimal else None
    if decimals is None:
        return f"{value.numerator}/{value.denominator}"
    scaled_number = value.numerator * 10**decimals // value.denominator
    digits = str(abs(scaled_number)).rjust(decimals + 1, "0")
    return f"{'-' if scaled_number < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def decimal_places(denominator: int) -> int | None:
    """Return how many decimal places 1/denominator needs; None for more than MAX_DECIMALS, or an endless decimal."""
    twos = fives = 0
    while denominator % 2 == 0:
        denominator //= 2
        twos += 1
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    decimals = max(twos, fives)
    return decimals if denominator == 1 and decimals <= MAX_DECIMALS else None
