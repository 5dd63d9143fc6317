"""Finds dates, numbers with units, and names in a sentence: possible answers to `when`, `how many` and `who`.

Numbers and dates are read and compared as the Calculator does (actions/quantities/reading.py). They may be ranges:
`7 to 11 feet`, `the 1920s`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.actions.qa.comparison import compare
from lumos_queue.actions.qa.unit_arithmetic import Unclear
from lumos_queue.actions.quantities.dates import read_date
from lumos_queue.actions.quantities.kinds import Quantity, When
from lumos_queue.actions.quantities.number_words import NUMBER_WORDS, SCALES
from lumos_queue.actions.quantities.reading import read_quantity
from lumos_queue.actions.quantities.units import readings

MAX_CHARACTERS = 2000  #: of a text that is searched
#: Kinds of measures, each with one of its units.
MEASURES = {"length": "metre", "mass": "kilogram", "time": "year", "speed": "mph", "money": "$"}

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_ERA = r"(?:\s?(?:BCE?|CE|AD)\b)"
_YEAR = (
    rf"(?:(?:1[0-9]{{3}}|20[0-9]{{2}})(?:['’]?s\b)?(?![\d,]*\d){_ERA}?|[1-9][0-9]{{0,3}}{_ERA}|AD\s?[1-9][0-9]{{0,3}})"
)
_ONE_DATE = (
    rf"(?:{_MONTH}\s[0-3]?[0-9](?:st|nd|rd|th)?,?\s{_YEAR}|[0-3]?[0-9]\s{_MONTH},?\s{_YEAR}|{_MONTH}\s{_YEAR}|{_YEAR})"
)
_TO = r"\s?(?:[-–—]|\bto\b|\buntil\b|\band\b|\bthrough\b)\s?"
_DATE = re.compile(rf"\b{_ONE_DATE}(?:{_TO}{_ONE_DATE})?")
_DECADE = re.compile(r"([0-9]{2})([0-9])([0-9])['’]?s")
_FIGURE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,9})?"
_SCALE = rf"(?:[\s-](?:{'|'.join(SCALES)})\b)?"
_NUMBER = rf"(?:[$£€]\s?)?(?:{_FIGURE}|\b(?:{'|'.join(sorted(NUMBER_WORDS))})\b){_SCALE}"
_QUANTITY = re.compile(rf"(?<![\w.,-]){_NUMBER}(?:{_TO}{_NUMBER})?(?!\w|[.,]\d)", re.IGNORECASE)
_UNIT = re.compile(r"[\s-]?(km/h|[A-Za-z]+)")
_NAME_WORD = r"(?:(?:[A-Z]\.)+|[A-Z][\w'’.&-]*[\w!]|[A-Z])"
_NAME = re.compile(rf"{_NAME_WORD}(?:\s(?:(?:of|the|de|la|von|van|del|di|da|and|&)\s)*{_NAME_WORD})*")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text that can answer a question. A date or a number is a range from `low` to `high`."""

    text: str
    start: int
    kind: str  #: date, name, number, or one of MEASURES
    low: Quantity | When | None = None
    high: Quantity | When | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def dates(text: str) -> list[Span]:
    """Return the years, dates and periods in a text."""
    spans = []
    for match in _DATE.finditer(text[:MAX_CHARACTERS]):
        ends = [end for part in re.split(_TO, match[0]) if part for end in _moments(part)]
        if ends:
            spans.append(Span(match[0], match.start(), "date", ends[0], ends[-1]))
    return spans


def _moments(text: str) -> list[When]:
    """Return the date of a text, or the first and the last year of a decade or a century; [] if it is no date."""
    if years := _DECADE.fullmatch(text):
        first = int(years[1] + years[2] + years[3])
        return [When(first), When(first + (99 if first % 100 == 0 else 9))]
    moment = When(int(text)) if text.isdigit() else read_date(text)
    return [moment] if moment else []


def quantities(text: str) -> list[Span]:
    """Return the numbers that are not dates, with their units: `7 to 11 feet`, `$5 million`, `three`."""
    date_ranges = [(date.start, date.end) for date in dates(text)]
    spans = []
    for match in _QUANTITY.finditer(text[:MAX_CHARACTERS]):
        if any(start < match.end() and match.start() < end for start, end in date_ranges):
            continue
        unit = _UNIT.match(text, match.end())
        unit_text = unit[1] if unit and _kind_of(unit[1]) else ""
        span_text = text[match.start() : unit.end()] if unit and unit_text else match[0]
        ends = [read_quantity(f"{part} {unit_text}".strip()) for part in _with_scale(re.split(_TO, match[0]))]
        if ends[0] and ends[-1]:
            kind = _kind_of(ends[-1].unit) or "number"
            spans.append(Span(span_text, match.start(), kind, ends[0], ends[-1]))
    return spans


def _with_scale(parts: list[str]) -> list[str]:
    """Return the parts of a range with the scale of the last part: `2 million` and `3 million` for `2 to 3 million`."""
    last = parts[-1].split()
    scale = last[-1] if len(last) > 1 and last[-1].lower() in SCALES else ""
    return [f"{part} {scale}" if scale and part[-1].isdigit() else part for part in parts]


def _kind_of(unit: str) -> str:
    """Return the kind of measure of a unit, such as `length`; '' if the unit is unknown."""
    if unit.startswith("$"):
        return "money"
    if not unit or unit.lower() == "in":  # usually the preposition
        return ""
    amount = Fraction(1)
    return next(
        (kind for kind, base in MEASURES.items() if readings(Quantity(amount, unit), Quantity(amount, base))), ""
    )


def compare_spans(first: Span, second: Span) -> str:
    """Return `<`, `>` or `=`; '' if the spans overlap or measure different things."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return ""
    try:
        if compare(first.high, "<", second.low):
            return "<"
        if compare(first.low, ">", second.high):
            return ">"
        return "=" if compare(first.low, "=", second.low) and compare(first.high, "=", second.high) else ""
    except Unclear:
        return ""


def names(text: str) -> list[Span]:
    """Return the sequences of capitalised words, including a word at the beginning of a sentence."""
    return [Span(match[0], match.start(), "name") for match in _NAME.finditer(text[:MAX_CHARACTERS])]
