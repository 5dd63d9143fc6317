"""A filter as conditions on the table of jobs. Every value is a bound parameter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Float, exists, func, literal, not_, select

from db.engine.conditions import Condition, Value, contains, is_one_of
from db.engine.json_columns import is_list, is_object
from db.models import JobEndpoint, JobRow, JobTag
from db.queries.damage import find_spec_damage
from db.queries.filters import Term

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def job_condition(connection: Connection, term: Term) -> Condition:
    """Return the condition on JobRow. Every field works except `state`, which is not stored. `model` makes a query."""
    match term.field:
        case "job":
            return compare(connection, JobRow.id, term)
        case "tag":
            return _has_tag(connection, term)
        case "name" if term.operator == "~":
            return func.lower(JobRow.name).contains(str(term.value).lower(), autoescape=True)
        case "model":
            condition = is_one_of(JobRow.id, jobs_of_model(connection, term))
            return not_(condition) if term.operator == "!=" else condition
        case "since":
            return JobRow.created_at >= literal(term.value, Float)
        case "until":
            return JobRow.created_at < literal(term.value, Float)
        case "name" | "kind" | "benchmark" | "split" | "formulation" | "project" | "origin" | "licence":
            return compare(connection, getattr(JobRow, term.field), term)
        case _:
            raise AssertionError(f"the field '{term.field}' has no condition on jobs")


def list_datasets(connection: Connection, terms: Iterable[Term], job: str = "") -> list[str]:
    """Return the datasets of the jobs that meet the terms. `job`: only of the job with this id; '': of all jobs."""
    query = select(JobRow.dataset).where(*(job_condition(connection, term) for term in terms)).distinct()
    if job:
        query = query.where(JobRow.id == job)
    return [dataset for dataset in connection.execute(query).scalars() if dataset]


def compare(connection: Connection, column: Value, term: Term) -> Condition:
    """Return the condition that compares the column with the term's value by the term's operator."""
    if term.operator == "~":
        return contains(connection, column, str(term.value))
    # As a Float, a number that is too large for the column's own type matches no row.
    value = literal(term.value, Float) if isinstance(term.value, float) else term.value
    return COMPARE[term.operator](column, value)


def _has_tag(connection: Connection, term: Term) -> Condition:
    """Return the condition that the job has such a tag; with !=, that it has no such tag."""
    fits = contains(connection, JobTag.value, str(term.value)) if term.operator == "~" else JobTag.value == term.value
    has_tag = exists().where(JobTag.job == JobRow.id, JobTag.key == term.key, fits)
    return not_(has_tag) if term.operator == "!=" else has_tag


def jobs_of_model(connection: Connection, term: Term) -> list[str]:
    """Return the jobs with a model that has this name, address or digest, in its URL or in its reported identity.

    The operator `!=` counts as `=`: the caller negates the condition.
    """
    texts_by_job: dict[str, set[str]] = {}
    for job, spec in connection.execute(select(JobRow.id, JobRow.spec)):
        if find_spec_damage(spec):
            continue
        texts_by_job.setdefault(job, set()).update(_models_in(spec))
    for job, url, identity in connection.execute(select(JobEndpoint.job, JobEndpoint.url, JobEndpoint.identity)):
        texts_by_job.setdefault(job, set()).update((url, *_texts_in(identity)))
    return [job for job, texts in texts_by_job.items() if is_any_model(term, texts)]


def is_any_model(term: Term, texts: Iterable[str]) -> bool:
    """Whether one of the texts equals the term's value; with `~`, whether one contains it, case-insensitively."""
    target = str(term.value)
    if term.operator == "~":
        return any(target.casefold() in text.casefold() for text in texts)
    return target in texts


def _models_in(spec: object) -> Iterator[str]:
    """Yield the addresses and weights that a job's request names for its roles, at any depth of the request."""
    if is_object(spec):
        for name, value in spec.items():
            yield from _texts_in(value) if name in ("roles", "weights", "teacher") else _models_in(value)


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for item in value.values():
            yield from _texts_in(item)
    elif is_list(value):
        for item in value:
            yield from _texts_in(item)
