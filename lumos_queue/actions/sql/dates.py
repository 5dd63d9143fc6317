"""MySQL's functions STR_TO_DATE, DATE_FORMAT and FROM_UNIXTIME for SQLite, which has no such formats.

The rules are those of the MySQL 8.0 Reference Manual, 14.7, in the default mode: a date with month or day 0 is NULL.
The time zone is UTC. Week numbers in STR_TO_DATE, and %U, %V and %X, are not covered: such a format is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

LAST_SECOND = 32_536_771_199  #: the last second that FROM_UNIXTIME accepts, in the year 3001
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_STORED = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?\s*")
_COMPOSED = {"T": "%H:%i:%S", "r": "%h:%i:%S %p"}
_WEEKS = frozenset("UuVvXx")  #: parts that depend on the first day of a week
_TIMES = frozenset("HhIkliSsfpTr")
#: The pattern of a part of a text, and the field that it sets.
_PARTS = {
    "Y": (r"\d{1,4}", "year"),
    "y": (r"\d{1,2}", "year"),
    "m": (r"\d{1,2}", "month"),
    "c": (r"\d{1,2}", "month"),
    "d": (r"\d{1,2}", "day"),
    "e": (r"\d{1,2}", "day"),
    "D": (r"\d{1,2}(?=\D\D)", "day"),
    "j": (r"\d{1,3}", "of year"),
    "H": (r"\d{1,2}", "hour"),
    "k": (r"\d{1,2}", "hour"),
    "h": (r"\d{1,2}", "hour"),
    "I": (r"\d{1,2}", "hour"),
    "l": (r"\d{1,2}", "hour"),
    "i": (r"\d{1,2}", "minute"),
    "S": (r"\d{1,2}", "second"),
    "s": (r"\d{1,2}", "second"),
    "f": (r"\d{1,6}", "micro"),
    "p": (r"[AaPp][Mm]", "half"),
    "M": ("|".join(_MONTHS), "month"),
    "b": ("|".join(month[:3] for month in _MONTHS), "month"),
    "W": ("|".join(_DAYS), "weekday"),
    "a": ("|".join(day[:3] for day in _DAYS), "weekday"),
    "w": (r"[0-6]", "weekday"),
}
_ELEMENT = re.compile(r"%(.)|(.)", re.DOTALL)


def str_to_date(text: Any, form: Any) -> str | None:
    """Return the date, the time or both that a text in the format `form` means, as MySQL writes them; else None.

    The text may be shorter or longer than the format. Raises ValueError for a part that is not covered.
    """
    if text is None or form is None:
        return None
    form = str(form)
    for letter, parts in _COMPOSED.items():
        form = form.replace(f"%{letter}", parts)
    fields = _read_fields(str(text), form)
    letters = {match[1] for match in _ELEMENT.finditer(form) if match[1] and match[1] != "%"}
    if fields is None or not letters:
        return None
    return _write(fields, bool(letters - _TIMES), bool(letters & _TIMES), "f" in letters)


def date_format(value: Any, form: Any) -> str | None:
    """Return a date in the format `form`; None if `value` is no date. Raises ValueError for an uncovered part."""
    match = None if value is None or form is None else _STORED.fullmatch(str(value))
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, int((match[7] or "").ljust(6, "0")))
    except ValueError:
        return None
    return _format_moment(moment, str(form))


def from_unixtime(seconds: Any, form: Any = "") -> str | None:
    """Return the time that is `seconds` after the start of 1970, UTC; None outside the range 0 to LAST_SECOND.

    The time has the format `form`, if any. A text that is no number counts as 0.
    """
    if seconds is None or form is None:
        return None
    try:
        number = Decimal(str(seconds))
    except InvalidOperation:
        number = Decimal(0)
    if number.is_nan():  # MySQL takes it as a text, and so as 0
        number = Decimal(0)
    if not 0 <= number <= LAST_SECOND:
        return None
    moment = datetime(1970, 1, 1) + timedelta(seconds=int(number), microseconds=int(number % 1 * 1_000_000))
    if form:
        return _format_moment(moment, str(form))
    text = moment.replace(microsecond=0).isoformat(" ")
    digits = f"{number % 1:f}".partition(".")[2]
    return f"{text}.{digits[:6]}" if digits.strip("0") else text


def _read_fields(text: str, form: str) -> dict[str, int] | None:
    """Return the fields (year, month, …) of a text in the format `form`, skipping spaces; None if it does not match."""
    fields: dict[str, int] = {}
    position = 0
    for match in _ELEMENT.finditer(form):
        position += len(text[position:]) - len(text[position:].lstrip())
        if position == len(text):
            break
        letter, plain = match[1], match[2] or ("%" if match[1] == "%" else "")
        if plain:
            if not plain.isspace():
                if text[position] != plain:
                    return None
                position += 1
            continue
        if letter in _WEEKS:
            raise ValueError(f"%{letter} cannot be read here")
        pattern, field = _PARTS.get(letter, (r"(?!)", ""))  # an unknown letter matches nothing
        part = re.compile(pattern, re.IGNORECASE).match(text, position)
        if part is None:
            return None
        fields[field] = _number(letter, part[0])
        fields |= {"twelve": 1} if letter in "hIl" else {}
        position = part.end() + (2 if letter == "D" else 0)
    return fields


def _number(letter: str, part: str) -> int:
    """Return the number of a part of a text, such as 3 for `Mar`. `letter`: the part's letter in the format."""
    if letter in "Mb":
        return 1 + [month[:3].lower() for month in _MONTHS].index(part[:3].lower())
    if letter in "Waw":
        return 0
    if letter == "p":
        return 12 if part[0] in "Pp" else 0
    if letter == "f":
        return int(part.ljust(6, "0"))
    if letter in "Yy" and len(part) <= 2:  # 70 to 99 belong to the 20th century
        return int(part) + (1900 if int(part) >= 70 else 2000)
    return int(part)


def _write(fields: dict[str, int], with_date: bool, with_time: bool, with_fraction: bool) -> str | None:
    hour, minute, second = (fields.get(name, 0) for name in ("hour", "minute", "second"))
    if "twelve" in fields:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + fields.get("half", 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    parts = []
    if with_date:
        year, month, day = (fields.get(name, 0) for name in ("year", "month", "day"))
        if "of year" in fields and year:
            try:
                moment = date(year, 1, 1) + timedelta(fields["of year"] - 1)
            except OverflowError:
                return None
            year, month, day = moment.year, moment.month, fields["of year"] and moment.day
        if not (1 <= month <= 12 and 1 <= day <= 31):  # the length of the month is not checked
            return None
        parts.append(f"{year:04}-{month:02}-{day:02}")
    if with_time:
        parts.append(f"{hour:02}:{minute:02}:{second:02}" + (f".{fields.get('micro', 0):06}" if with_fraction else ""))
    return " ".join(parts)


def _format_moment(moment: datetime, form: str) -> str:
    for letter, parts in _COMPOSED.items():
        form = form.replace(f"%{letter}", parts)
    return _ELEMENT.sub(lambda match: match[2] or _format_part(moment, match[1]), form)


def _format_part(moment: datetime, letter: str) -> str:
    twelve = moment.hour % 12 or 12
    parts: dict[str, Callable[[], str]] = {
        "Y": lambda: f"{moment.year:04}",
        "y": lambda: f"{moment.year % 100:02}",
        "m": lambda: f"{moment.month:02}",
        "c": lambda: str(moment.month),
        "M": lambda: _MONTHS[moment.month - 1],
        "b": lambda: _MONTHS[moment.month - 1][:3],
        "d": lambda: f"{moment.day:02}",
        "e": lambda: str(moment.day),
        "D": lambda: f"{moment.day}{_ordinal(moment.day)}",
        "j": lambda: f"{moment.timetuple().tm_yday:03}",
        "W": lambda: _DAYS[moment.weekday()],
        "a": lambda: _DAYS[moment.weekday()][:3],
        "w": lambda: str(moment.isoweekday() % 7),
        "H": lambda: f"{moment.hour:02}",
        "k": lambda: str(moment.hour),
        "h": lambda: f"{twelve:02}",
        "I": lambda: f"{twelve:02}",
        "l": lambda: str(twelve),
        "i": lambda: f"{moment.minute:02}",
        "S": lambda: f"{moment.second:02}",
        "s": lambda: f"{moment.second:02}",
        "f": lambda: f"{moment.microsecond:06}",
        "p": lambda: "PM" if moment.hour > 11 else "AM",
        "v": lambda: f"{moment.isocalendar().week:02}",
        "x": lambda: f"{moment.isocalendar().year:04}",
        "u": lambda: f"{_monday_week(moment):02}",
    }
    if letter in "UVX":
        raise ValueError(f"%{letter} is not supported")
    return parts[letter]() if letter in parts else letter


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _monday_week(moment: datetime) -> int:
    """Return the week of the year. Week 1 is the first week with more than three days of the year; 0 is before it."""
    year, week, _ = moment.isocalendar()
    if year == moment.year:
        return week
    return 0 if year < moment.year else (moment - timedelta(7)).isocalendar().week + 1
