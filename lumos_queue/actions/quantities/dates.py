"""Dates in texts: `June 4, 1990`, `1990-06-04`, `25/12/1990`, `May 2010`, `44 BC`."""

from __future__ import annotations

import re
from datetime import datetime

from dateutil import parser as dates

from lumos_queue.actions.quantities.kinds import When

_ERA = re.compile(r"(?:\b(?P<before>bce?|b\.c\.(?:e\.)?)|\b(?P<after>ce|ad|a\.d\.))(?!\w)", re.IGNORECASE)
_YEAR = re.compile(r"(?<![0-9,.])([0-9]{4})(?![0-9,]|\.[0-9])")
_ANY_YEAR = re.compile(r"(?<![0-9,.])([0-9]{1,4})(?=\W*$)")
_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|january|february|march|april|june|july|august|september"
    r"|october|november|december)"
)
_WORDS = re.compile(
    rf"(?:{_MONTH}|mon|tues?|wed|thurs?|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day|st|nd|rd|th|of|the)$",
    re.IGNORECASE,
)
_NAMED_MONTH = re.compile(rf"{_MONTH}$", re.IGNORECASE)
_ALPHABETIC = re.compile(r"[^\W\d_]+")
#: In digits alone: the year first, or last.
_YEAR_FIRST = re.compile(r"([0-9]{4})(?:-([0-9]{2})|([-./])([0-9]{1,2})\3([0-9]{1,2}))")
_YEAR_LAST = re.compile(r"(?:([0-9]{2})/|([0-9]{1,2})([-./])([0-9]{1,2})\3)([0-9]{4})")


def read_date(text: str) -> When | None:
    """Return the date of a text that names a month, is a date in digits, or is a year with its era; else None.

    Ambiguous texts give None: a year alone may be a number, and `4/6/1990` may be in April or in June.
    """
    era = _ERA.search(text)
    plain = (text[: era.start()] + text[era.end() :] if era else text).strip(" ,.")
    years = _YEAR.findall(plain) or (_ANY_YEAR.findall(plain) if era else [])
    words = _ALPHABETIC.findall(plain)
    if len(years) != 1 or not all(map(_WORDS.match, words)):
        return None
    year = -int(years[0]) if era and era["before"] else int(years[0])
    if era and plain.removeprefix("the ").strip() == years[0]:
        return When(year) if year else None
    if not words:
        return None if era else _in_digits(plain)
    return _with_month(plain, years[0], year) if any(map(_NAMED_MONTH.match, words)) else None


def _in_digits(text: str) -> When | None:
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day = match[1], match[2] or match[4], match[5]
    elif match := _YEAR_LAST.fullmatch(text):
        year, month, day = match[5], match[1] or match[2], match[4]
        if day and int(month) > 12:
            month, day = day, month
        elif day and int(day) <= 12 and day != month:
            return None
    else:
        return None
    try:
        datetime(int(year), int(month), int(day or 1))
    except ValueError:
        return None
    return When(int(year), int(month), int(day) if day else None)


def _with_month(plain: str, year_text: str, year: int) -> When | None:
    """Read a date by dateutil. It takes missing parts from a default, and two different defaults reveal these parts."""
    before, _, after = plain.rpartition(year_text)
    rest = " ".join(re.sub(r"\b(?:of|the)\b", " ", f"{before}2000{after}", flags=re.IGNORECASE).split()).strip(" ,.")
    try:
        first, second = (dates.parse(rest, default=datetime(1904, month, month)) for month in (3, 5))
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError):  # dateutil raises no specific error
        return None
    if (first.year, first.hour, first.minute) != (2000, 0, 0) or first.month != second.month:
        return None
    return When(year, first.month, first.day if first.day == second.day else None)
