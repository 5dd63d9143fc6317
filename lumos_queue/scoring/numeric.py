"""Judge a numeric answer: the same number counts in any notation.

`12`, `12.0`, `$12`, `12 apples` and `24/2` are the same answer. `12 or 13`, `12 million`, `2x`, `nan` and prose are not
read as numbers. A percent sign is a unit: `25%` equals `25`, not `0.25`. Scale words such as `million` are not units
(scale_words.py), so a number before a scale word is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from lumos_queue.records import Ending, Score
from lumos_queue.scoring.numbers import CURRENCY, plain_text, read_numeral
from lumos_queue.scoring.scale_words import read_scale

#: Longer answers are prose. It also bounds the work: what follows is done on at most this many characters.
MAX_ANSWER_CHARACTERS = 200
MAX_EXPONENT = 300  #: that of a float; a larger power of ten would only fill memory
ACCURACY_VERSION = "3"  #: of the metric `accuracy` of numbers: see answer_scores
TOLERANCE_PARTS = 10**6  #: an answer may differ from the gold number by one of so many parts of it

_NUMERAL = r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)"
_ANSWER = re.compile(
    rf"""(?:US)?[ ]?(?P<sign>[-+]?)\s*
         (?:(?P<whole>[0-9]+)\s+(?P<over>[0-9]+)/(?P<parts>[0-9]+)
           |(?P<number>{_NUMERAL})(?:[eE](?P<exponent>[-+]?[0-9]{{1,4}})(?![0-9]))?(?:\s*/\s*(?P<under>{_NUMERAL}))?)
         (?P<unit>.*)""",
    re.VERBOSE | re.DOTALL,
)
_UNIT = re.compile(r"(?:[%°(²³]|[^\W\d_])[^\d=<>+*^|\\_]*", re.DOTALL)
_AREA = re.compile(r"\b(?:mm|cm|dm|km|m|in|ft|yd|mi)\^?[23]\b")
_LETTER_UNITS = frozenset("mgshldaclCFLK¢")
#: Words after a number with which it is no single one.
_NOT_UNITS = frozenset(("half", "or", "to", "and"))
_MONEY = re.compile(rf"[^\w]{{0,8}}(?:US)?[ ]?[-+]?[{CURRENCY}]")


def read_number(text: str | None) -> Fraction | None:
    """Return the number that `text` states, with or without a unit, or None. Never raises; linear in the length."""
    if text is None:
        return None
    text = text.strip()
    if not text or len(text) > MAX_ANSWER_CHARACTERS:
        return None
    if text.isdecimal() and text.isascii():  # what most gold answers are: millions of them are read from a file
        return Fraction(int(text))
    match = _ANSWER.fullmatch(plain_text(text).strip("`'\" "))
    if match is None or not _is_unit(match["unit"], _MONEY.match(text) is not None):
        return None
    value = _read_mixed_number(match) if match["whole"] else _plain(match)
    return -value if value is not None and match["sign"] == "-" else value


def _read_mixed_number(match: re.Match[str]) -> Fraction | None:
    """Return the value of a mixed number such as `1 3/4`."""
    whole, over, parts = (read_numeral(match[name]) for name in ("whole", "over", "parts"))
    return whole + over / parts if whole is not None and over is not None and parts else None


def _plain(match: re.Match[str]) -> Fraction | None:
    """Return the value of a number such as `1,234.5`, `3/4` or `1e5`."""
    value, exponent = read_numeral(match["number"]), int(match["exponent"] or 0)
    if value is None or abs(exponent) > MAX_EXPONENT:
        return None
    value *= Fraction(10) ** exponent
    if match["under"] is None:
        return value
    under = read_numeral(match["under"])
    return value / under if under else None


def is_letter_unit(letter: str) -> bool:
    """Whether a letter alone is a unit of measurement, as in `12 m`."""
    return letter in _LETTER_UNITS


def _is_unit(rest: str, money: bool) -> bool:
    """Whether the text after a number is only a unit and does not change the number."""
    if read_scale(rest, money=money)[0] != 1:
        return False
    rest = _AREA.sub("m", rest.strip().rstrip(".").strip())
    if not rest:
        return True
    if _UNIT.fullmatch(rest) is None:
        return False
    words = re.findall(r"[^\W\d_]+", rest)
    if len(words) == 1 and len(words[0]) == 1:
        return words[0] in _LETTER_UNITS
    return not any(word.lower() in _NOT_UNITS for word in words[:2])


def close(value: Fraction | int, gold: Fraction | int) -> bool:
    """Whether two numbers are equal up to the relative tolerance; for a gold number of 0, exactly equal."""
    return value == gold or abs(value - gold) * TOLERANCE_PARTS <= abs(gold)


def same_number(answer: str | None, gold: str) -> bool:
    """Whether the answer is the gold number in any notation; False if either text is not a number. Never raises."""
    value, target = read_number(answer), read_number(gold)
    return value is not None and target is not None and close(value, target)


def answer_scores(right: bool, identical: bool, ending: str) -> Sequence[Score]:
    """Return the scores `accuracy` (`right`) and `strict` (`identical`, and the agent stopped by itself).

    Version 1 of `accuracy` counted every ending `limit` as wrong, as `strict` still does. Since version 2, the last
    value at the limit of subgoals is judged, if the agent's setting makes it the answer (limit.py). Since version 3, a
    number before a scale word is not read (scale_words.py); earlier versions read `12 thousands` as 12.
    """
    is_strict = identical and ending == Ending.ANSWERED
    return Score("accuracy", float(right), ACCURACY_VERSION), Score("strict", float(is_strict))


def numeric_scores(answer: str | None, gold: str, ending: str = Ending.ANSWERED) -> Sequence[Score]:
    """Return `accuracy` (the same number) and `strict` (the same string, as in the original evaluation)."""
    return answer_scores(same_number(answer, gold), answer == gold, ending)
