"""The small language that selects episodes and jobs: `benchmark=gsm8k score=1 tag.team=maths text~"red apples"`.

Terms are separated by spaces or by `and`, and all must hold. No part of a filter becomes SQL text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from db.kinds.failure_classes import FailureClass
from db.kinds.job_kinds import JobKind
from lumos_queue.errors import SpecError, unknown
from lumos_queue.records import LEVELS, Ending
from lumos_queue.util.sanitize import storable

EQUALITY = ("=", "!=")
NAMES = ("=", "!=", "~")  #: equal, unequal, contains (case-sensitively)
ORDER = ("=", "!=", "<", "<=", ">", ">=")

Fields = Mapping[str, tuple[str, ...]]  #: field to the operators that make sense for it
#: Fields of a job and of its episodes. `tag` is written with its key: `tag.team=maths`.
_OF_BOTH: Fields = {
    "job": NAMES,
    "name": NAMES,
    "tag": NAMES,
    "kind": EQUALITY,
    "benchmark": NAMES,
    "split": NAMES,
    "formulation": NAMES,
    "model": NAMES,
    "project": NAMES,
    "origin": NAMES,
    "licence": NAMES,
    "since": ("=",),
    "until": ("=",),
}
#: Fields that select jobs.
JOB_FIELDS: Fields = {**_OF_BOTH, "state": EQUALITY}
#: Fields that select episodes. `metric` is written with its name: `metric:strict>=0.5`; `meta` with a field of the
#: data: `meta.year>1990`.
FIELDS: Fields = {
    **_OF_BOTH,
    "ending": NAMES,
    "level": ORDER,
    "score": ORDER,
    "metric": ORDER,
    "subgoals": ORDER,
    "calls": ORDER,
    "sample": ORDER,
    "action": NAMES,
    "error": NAMES,
    "verdict": NAMES,  # the name of any verdict on the episode
    "failure": EQUALITY,  # of infrastructure
    "label": EQUALITY,
    "rating": ORDER,  # by any person
    "text": ("~",),
    "meta": ("=", "!=", "~", "<", "<=", ">", ">="),  # of its task: a field of the data file
}
NUMBERS = frozenset(("score", "metric", "subgoals", "calls", "sample", "rating"))
TIMES = frozenset(("since", "until"))
#: The values of these fields. The level `none`, below all others, is for episodes that are no accepted annotations.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "ending": tuple(Ending),
    "level": ("none", *LEVELS),
    "label": ("right", "wrong", "unsure"),
    "kind": tuple(kind for kind in JobKind if kind != JobKind.CORRECT),
    "failure": tuple(kind for kind in FailureClass if kind != FailureClass.DIED),  # quarantined items have not ended
}

_TERM = re.compile(
    r"""\s*(?P<field>[A-Za-z_]+)
        (?: : (?P<metric>[^\s=!<>~:"']+) | \. (?: (?P<key>[\w.-]+) | "(?P<quoted_key>(?:[^"\\]|\\.)*)" ) )?
        \s*(?P<operator>!=|<=|>=|[=<>~])
        \s*(?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)' | (?P<bare>[^\s"'][^\s]*) )
        (?=\s|$)""",
    re.VERBOSE | re.DOTALL,
)
_BEFORE_KEY = {"metric": ":", "tag": ".", "meta": "."}  #: the separator before the key, by field
_KEYED_EXAMPLES = {
    "metric": "a metric with its name, as in metric:strict=1",
    "tag": "a tag with its key, as in tag.team=maths",
    "meta": 'a field of the data with its name, as in meta.topic=algebra or meta."my field"=3',
}
_AND = re.compile(r"\s*and(?=\s)", re.IGNORECASE)
_BARE = re.compile(r"[^\s\"'][^\s]*")
_BARE_KEY = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `value` is a number for the fields in NUMBERS, seconds since 1970 for those in TIMES."""

    field: str
    operator: str
    value: str | float
    key: str = ""  #: the name after `metric:`, `tag.` or `meta.`

    def __str__(self) -> str:
        name = f"{self.field}{_BEFORE_KEY[self.field]}{_write_key(self)}" if self.key else self.field
        return f"{name}{self.operator}{_write_value(self.field, self.value)}"


@dataclass(frozen=True, slots=True)
class Filter:
    """A selection of the jobs or finished episodes for which all terms hold. `str` returns text that parses to it."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.terms + other.terms)


def parse_where(text: str, fields: Fields = FIELDS) -> Filter:
    """Read a filter of episodes; the empty text selects every finished episode.

    Raises SpecError for text that cannot be read, for an unknown field, and for an operator or a value that the field
    does not allow.
    """
    terms: list[Term] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        if terms and (between := _AND.match(text, position)):
            position = between.end()
        match = _TERM.match(text, position)
        if not match:
            raise SpecError(
                f"Cannot read the filter at '{text[position:end].strip()[:40]}': "
                'expected FIELD OPERATOR VALUE, as in score=1 or text~"two words".'
            )
        quotation = match["double"] if match["double"] is not None else match["single"]
        value = _unquote(quotation) if quotation is not None else match["bare"]
        terms.append(_read_term(match, value, fields))
        position = match.end()
    return Filter(tuple(terms))


def parse_job_where(text: str) -> Filter:
    """Read a filter of jobs. The value of `state` is not checked. Raises SpecError as `parse_where` does."""
    return parse_where(text, JOB_FIELDS)


def _read_term(match: re.Match[str], value: str, fields: Fields) -> Term:
    if match["metric"] and match["field"] != "metric":
        raise SpecError("Only the field metric has a name after a colon. Write it as in metric:strict=1.")
    key, quoted_key = match["key"], match["quoted_key"]
    if (key or quoted_key is not None) and _BEFORE_KEY.get(match["field"]) != ".":
        raise SpecError("Only the fields tag and meta have a key after a dot. Write it as in tag.team=maths.")
    if quoted_key is not None:
        if match["field"] == "tag":
            raise SpecError("Write a tag's key without quotes, as in tag.team=maths.")
        key = _unquote(quoted_key)
    return term(match["field"], match["operator"], value, match["metric"] or key or "", fields)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def term(field: str, operator: str, value: str, key: str = "", fields: Fields = FIELDS) -> Term:
    """Return the condition with these parts. Raises SpecError as `parse_where` does."""
    if field not in fields:
        raise _unknown_field(field, fields)
    if operator not in fields[field]:
        raise SpecError(f"The field '{field}' has no operator '{operator}': expected {' or '.join(fields[field])}.")
    if field in _BEFORE_KEY and not key:
        raise SpecError(f"Write {_KEYED_EXAMPLES[field]}.")
    if storable(value + key)[1]:
        raise SpecError(f"The value of '{field}' contains a character that cannot be stored.")
    if field in CHOICES and operator != "~" and value not in CHOICES[field]:
        raise unknown(field, value, CHOICES[field])
    if field in NUMBERS:
        return Term(field, operator, _number(field, value), key)
    if field in TIMES:
        return Term(field, operator, _time(field, value))
    if field == "meta" and operator in ORDER[2:]:
        _number(f"meta.{key}", value)
    return Term(field, operator, value, key)


def _unknown_field(field: str, fields: Fields) -> SpecError:
    """Return the error for an unknown field. The error names the right filter for a field of jobs or episodes."""
    if field in FIELDS or field in JOB_FIELDS:
        kind, queried_kind = ("jobs", "episodes") if fields is FIELDS else ("episodes", "jobs")
        return SpecError(
            f"The field '{field}' selects {kind}, not {queried_kind}. Choose one of: {', '.join(sorted(fields))}."
        )
    return unknown("field", field, fields)


def _number(field: str, value: str) -> float:
    number = read_number(value)
    if number is None:
        raise SpecError(f"The value of '{field}' is '{value}': expected a number.")
    return number


def read_number(value: str | float) -> float | None:
    """Return a value, or the number that a text represents; None if that is no finite number."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _time(field: str, value: str) -> float:
    """Return the seconds since 1970 of a date or a time. Without a time zone it is UTC. Raises SpecError."""
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise SpecError(
            f"The value of '{field}' is '{value}': expected a date or time (UTC), as in 2026-11-21 or 2026-11-21T09:30."
        ) from None


def _write_value(field: str, value: str | float) -> str:
    if not isinstance(value, str):
        return datetime.fromtimestamp(value, UTC).isoformat() if field in TIMES else f"{value!r}".removesuffix(".0")
    return value if _BARE.fullmatch(value) else _quote(value)


def _write_key(condition: Term) -> str:
    return condition.key if condition.field != "meta" or _BARE_KEY.fullmatch(condition.key) else _quote(condition.key)


def _quote(text: str) -> str:
    escaped_text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped_text}"'
