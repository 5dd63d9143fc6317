"""A filter as conditions on the table of jobs. Every value is a bound parameter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Float, exists, func, literal, not_, select

from db.conditions import Condition, contains, is_one_of
from db.damage import find_spec_damage
from db.filters import Term
from db.models import JobEndpoint, JobRow, JobTag

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def job_condition(connection: Connection, one: Term) -> Condition:
    """What must hold of JobRow, for every field of a job but `state`, which is not stored. Models are looked up."""
    match one.field:
        case "job":
            return compare(connection, JobRow.id, one)
        case "tag":
            return _has_tag(connection, one)
        case "name" if one.operator == "~":
            return func.lower(JobRow.name).contains(str(one.value).lower(), autoescape=True)
        case "model":
            found = is_one_of(JobRow.id, jobs_of_model(connection, one))
            return not_(found) if one.operator == "!=" else found
        case "since":
            return JobRow.created_at >= literal(one.value, Float)
        case "until":
            return JobRow.created_at < literal(one.value, Float)
        case "name" | "kind" | "benchmark" | "split" | "formulation" | "project" | "origin" | "licence":
            return compare(connection, getattr(JobRow, one.field), one)
    raise AssertionError(f"the field '{one.field}' has no condition on jobs")


def compare(connection: Connection, column: Any, one: Term) -> Condition:
    """Whether the column is to the term's value as its operator says."""
    if one.operator == "~":
        return contains(connection, column, str(one.value))
    # As a Float: a number may be too large for the column's own type, and is then simply not there.
    value = literal(one.value, Float) if isinstance(one.value, float) else one.value
    return COMPARE[one.operator](column, value)


def _has_tag(connection: Connection, one: Term) -> Condition:
    """Whether the job has such a tag; with !=, whether it has none like it."""
    fits = contains(connection, JobTag.value, str(one.value)) if one.operator == "~" else JobTag.value == one.value
    found = exists().where(JobTag.job == JobRow.id, JobTag.key == one.key, fits)
    return not_(found) if one.operator == "!=" else found


def jobs_of_model(connection: Connection, one: Term) -> list[str]:
    """Jobs one of whose models has this name, address or digest, by its URL or by what it said it was: as the term says
    with `=` and `~`; with `!=` as with `=`.
    """
    said: dict[str, set[str]] = {}
    for job, spec in connection.execute(select(JobRow.id, JobRow.spec)):
        if find_spec_damage(spec):
            continue
        said.setdefault(job, set()).update(_models_in(spec))
    for job, url, identity in connection.execute(select(JobEndpoint.job, JobEndpoint.url, JobEndpoint.identity)):
        said.setdefault(job, set()).update((url, *_texts_in(identity)))
    return [job for job, texts in said.items() if is_any_model(one, texts)]


def is_any_model(one: Term, texts: Iterable[str]) -> bool:
    """Whether one of the texts is the term's value; with `~`, contains it, whether in capitals or not."""
    wanted = str(one.value)
    if one.operator == "~":
        return any(wanted.casefold() in text.casefold() for text in texts)
    return wanted in texts


def _models_in(spec: Any) -> Iterator[str]:
    """Addresses and weights that a job's request names, by role, at whatever depth."""
    if isinstance(spec, dict):
        for name, value in spec.items():
            yield from _texts_in(value) if name in ("roles", "weights", "teacher") else _models_in(value)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)
