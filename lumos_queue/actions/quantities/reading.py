"""Read an answer as a value that can be compared: a number with its unit, a date, yes or no.

A text is read only if all of it fits: `about 2.5 million people`, `1,083 feet (330 m)`, `June 4, 1990`, `44 BC`.
`5 to 10 days`, `less than 100`, `11 am`, `three quarters` and `1990s` are not read: the caller has to ask a model.
"""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.actions.quantities.dates import read_date
from lumos_queue.actions.quantities.kinds import Quantity, When
from lumos_queue.actions.quantities.number_words import NUMBER_WORDS, SCALES, read_spelled
from lumos_queue.actions.quantities.units import BEHIND_A_UNIT, SHORT
from lumos_queue.scoring.numbers import parse_number

MAX_TEXT = 300  #: characters that are read
CURRENCIES = "$€£¥₹"
#: Words that leave the number as it is. `over`, `at least` and `nearly` do not.
_ABOUT = re.compile(
    r"(?:(?:about|approximately|approx\.?|around|roughly|circa|c\.|ca\.|exactly|an? estimated|some|in|on|the)\s+"
    r"|[~≈]\s*)+",
    re.IGNORECASE,
)
_TRUTH = re.compile(r"(yes|true|no|false)(?:[,;:!.](?:\s(?![0-9])|$)|\s*\(|$)", re.IGNORECASE)
_NUMERAL = re.compile(
    r"(?P<number>[-−+]?\s?(?P<currency>[$€£¥₹])?\s?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?!,[0-9]))?"
    r"(?:\.[0-9]+)?(?:\s?/\s?[0-9]+|\s[0-9]+/[0-9]+)?)(?P<rest>.*)",
    re.DOTALL,
)
_SCALE = re.compile(rf"[\s-]*({'|'.join(SCALES)})s?\b", re.IGNORECASE)
_OF_MONEY = re.compile(r"\s?([kmb])\b", re.IGNORECASE)  #: `$5k`; of other numbers `m` may be metres
_LETTERS = {"k": 10**3, "m": 10**6, "b": 10**9}
#: Begins in lower case: `12 Angry Men` and `One World Trade Center` are names.
#: `²` and `³` can belong to a word and stand between words. They belong to the word before them, else to those after.
_UNIT = re.compile(
    r"\s?(%|(?![A-Z])°?[^\W\d_]++\.?(?:(?:(?:[²³]*+[ /^-]++(?=[^\W\d_]))++|(?<=\.)[²³])[^\W\d_]++\.?){0,5}[²³]?)?"
    r"\s*(?P<aside>\([^()]*\))?"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th|s)\b", re.IGNORECASE)
_MONEY = {
    "dollar": "$",
    "dollars": "$",
    "us dollars": "$",
    "euro": "€",
    "euros": "€",
    "pounds sterling": "£",
    "yen": "¥",
    "rupees": "₹",
}
_PER_CENT = ("percent", "per cent")
#: Words that change what the number before them means.
_UNCLEAR = frozenset("and or to less more fewer plus minus point times bc bce ce ad percent cent".split())  # noqa: SIM905
_FIRST_UNCLEAR = frozenset("of out per by th at".split())  # noqa: SIM905


def read_value(text: str) -> Quantity | When | bool | None:
    """Return the value of a text; None if it cannot be read as a whole."""
    text = " ".join(text[: MAX_TEXT + 1].split())
    if len(text) > MAX_TEXT:
        return None
    if truth := _TRUTH.match(text):
        return truth[1].lower() in ("yes", "true")
    text = text.rstrip(".") if not re.search(r"[.][A-Za-z][.]$", text) else text
    if about := _ABOUT.match(text):
        text = text[about.end() :]
    return read_date(text) or read_quantity(text)


def read_quantity(text: str) -> Quantity | None:
    """Return the quantity of `1,083 feet`, `$2.5 million`, `25%`, `three apples`, `-4 °C`; None for other texts."""
    match = _NUMERAL.fullmatch(text)
    number: Fraction | None
    currency = ""
    if match and any(digit.isdigit() for digit in match["number"]):
        number, rest, currency = parse_number(match["number"]), match["rest"], match["currency"] or ""
        if _ORDINAL.match(rest):  # the 19th, the 1990s
            return None
    else:
        number, rest = read_spelled(text)
    while number is not None and (scale := _SCALE.match(rest)):
        number *= SCALES[scale[1].lower()]
        rest = rest[scale.end() :]
    if number is not None and currency and (letter := _OF_MONEY.match(rest)):
        number *= _LETTERS[letter[1].lower()]
        rest = rest[letter.end() :]
    unit = _unit(rest, currency)
    if number is None or unit is None or (unit == "%" and "/" in text):  # `15 / 25%` is 60
        return None
    return Quantity(number, unit)


def _unit(text: str, currency: str) -> str | None:
    """Return the unit in the text after a number, with the currency, without brackets; None if it may be no unit."""
    match = _UNIT.fullmatch(text)
    if not match or (match["aside"] and not match[1]):
        return None
    unit = match[1] or ""
    if unit.casefold() in _PER_CENT:
        unit = "%"
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", unit)]
    if _UNCLEAR.intersection(words) or NUMBER_WORDS.intersection(words):
        return None
    if currency or not words:
        return f"{currency} {unit}".strip()
    if words[0] in _FIRST_UNCLEAR:
        return None
    if len(words[0]) < 3 and not _is_short_unit(unit, words):
        return None
    return _MONEY.get(unit.casefold(), unit)


def _is_short_unit(unit: str, words: list[str]) -> bool:
    """Return whether a first word of one or two letters is a unit: not `am`, `m people` (million?) or `in all`."""
    first = unit.split()[0].rstrip(".")
    if not first.startswith("°") and words[0] not in SHORT and first.split("/")[0].rstrip("²³") not in SHORT:
        return False
    if first in ("in", "m") and len(words) > 1:
        return "/" in unit or (first == "m" and words[1] in {*BEHIND_A_UNIT, "per"})
    return True


def show_quantity(quantity: Quantity, number: str) -> str:
    """Return a quantity as a text for `read_value`: `8 miles`, `$5`, `25%`. `number`: the number as text."""
    sign, _, rest = quantity.unit.partition(" ")
    if sign and sign in CURRENCIES:
        minus = "-" if number.startswith("-") else ""
        return f"{minus}{sign}{number.removeprefix('-')} {rest}".rstrip()
    return f"{number}{'' if quantity.unit in ('', '%') else ' '}{quantity.unit}"
