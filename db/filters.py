"""The small language that selects episodes: `benchmark=gsm8k score=1 subgoals<=4 text~"red apples"`.

Terms follow one another, or with `and` between them, and all must hold. No part of a filter ever becomes SQL text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lumos_queue.errors import SpecError, unknown
from lumos_queue.records import LEVELS, Ending
from lumos_queue.util.sanitize import storable

EQUALITY = ("=", "!=")
NAMES = ("=", "!=", "~")  #: equal, unequal, contains (with capitals as written)
ORDER = ("=", "!=", "<", "<=", ">", ">=")

#: Field to the operators that make sense for it. `metric` is written with its name: `metric:strict>=0.5`.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "job": NAMES, "benchmark": NAMES, "project": NAMES, "model": NAMES,  # of the episode's job
    "split": NAMES, "formulation": NAMES, "origin": NAMES, "licence": NAMES, "ending": NAMES,
    "level": ORDER,
    "score": ORDER, "metric": ORDER, "subgoals": ORDER, "calls": ORDER, "sample": ORDER,
    "action": NAMES, "error": NAMES, "verdict": NAMES,  # of any of its actions, of any filter's finding
    "label": EQUALITY, "rating": ORDER,  # by any person
    "text": ("~",),
    "since": ("=",), "until": ("=",),
}  # fmt: skip
NUMBERS = frozenset(("score", "metric", "subgoals", "calls", "sample", "rating"))
TIMES = frozenset(("since", "until"))
#: What a value of these fields can be. A level is `none` for what is not an accepted annotation: below all others.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "ending": tuple(Ending), "level": ("none", *LEVELS), "label": ("right", "wrong", "unsure"),
}  # fmt: skip

_TERM = re.compile(
    r"""\s*(?P<field>[A-Za-z_]+)(?: : (?P<metric>[^\s=!<>~:"']+) )?
        \s*(?P<operator>!=|<=|>=|[=<>~])
        \s*(?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)' | (?P<bare>[^\s"'][^\s]*) )
        (?=\s|$)""",
    re.VERBOSE | re.DOTALL,
)
_AND = re.compile(r"\s*and(?=\s)", re.IGNORECASE)
_BARE = re.compile(r"[^\s\"'][^\s]*")


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `value` is a number for the fields in NUMBERS, seconds since 1970 for those in TIMES."""

    field: str
    operator: str
    value: str | float
    metric: str = ""  #: which one, when the field is `metric`

    def __str__(self) -> str:
        name = f"metric:{self.metric}" if self.field == "metric" else self.field
        return f"{name}{self.operator}{_written(self.field, self.value)}"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which finished episodes are wanted: those for which all terms hold. `str` gives text that parses to the same."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.terms + other.terms)


def parse_where(text: str) -> Filter:
    """Read a filter; the empty text gives the filter that holds for every finished episode.

    Raises SpecError naming what cannot be read, an unknown field, an operator or a value that a field does not have.
    """
    terms: list[Term] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        if terms and (between := _AND.match(text, place)):
            place = between.end()
        found = _TERM.match(text, place)
        if not found:
            raise SpecError(
                f"Cannot read the filter at '{text[place:end].strip()[:40]}': "
                'expected FIELD OPERATOR VALUE, as in score=1 or text~"two words".'
            )
        quoted = found["double"] if found["double"] is not None else found["single"]
        value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else found["bare"]
        terms.append(term(found["field"], found["operator"], value, found["metric"] or ""))
        place = found.end()
    return Filter(tuple(terms))


def term(field: str, operator: str, value: str, metric: str = "") -> Term:
    """One condition from its parts. Raises SpecError as `parse_where` does."""
    if field not in FIELDS:
        raise unknown("field", field, FIELDS)
    if operator not in FIELDS[field]:
        raise SpecError(f"The field '{field}' has no operator '{operator}': expected {' or '.join(FIELDS[field])}.")
    if bool(metric) != (field == "metric"):
        raise SpecError("Write a metric with its name, as in metric:strict=1; no other field has one.")
    if storable(value + metric)[1]:
        raise SpecError(f"The value of '{field}' holds a character that no stored text can hold.")
    if field in CHOICES and operator != "~" and value not in CHOICES[field]:
        raise unknown(field, value, CHOICES[field])
    if field in NUMBERS:
        return Term(field, operator, _number(field, value), metric)
    if field in TIMES:
        return Term(field, operator, _time(field, value))
    return Term(field, operator, value)


def _number(field: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SpecError(f"The value of '{field}' is '{value}': expected a number.")
    return number


def _time(field: str, value: str) -> float:
    """Seconds since 1970 of a date or a time, UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise SpecError(
            f"The value of '{field}' is '{value}': expected a date or time (UTC), as in 2026-11-21 or 2026-11-21T09:30."
        ) from None


def _written(field: str, value: str | float) -> str:
    if not isinstance(value, str):
        return datetime.fromtimestamp(value, UTC).isoformat() if field in TIMES else f"{value!r}".removesuffix(".0")
    if _BARE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
