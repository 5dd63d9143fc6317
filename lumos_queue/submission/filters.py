"""Read filters as people write them. A name is an error if neither this version nor a stored job has it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from db.engine.connection import Connection, Database
from db.queries.filters import JOB_FIELDS, TIMES, Filter, Term, parse_job_where, parse_where
from db.queries.job_filters import list_datasets
from db.queries.stored_names import list_stored_names
from db.queries.task_fields import has_field, list_fields, unknown_field
from lumos_queue.errors import unknown
from lumos_queue.records import Origin
from lumos_queue.reports.real_state import read_state

_ORIGINS = tuple(Origin)
_NAMED = ("benchmark", "formulation", "origin")  #: fields whose values are names; `tag` and `metric` have them as keys


def read_where(database: Database, text: str, job: str = "") -> Filter:
    """Return a filter of episodes (docs/queries.md). `job`: check data fields against this job only; '': all jobs.

    Raises SpecError, with the nearest name, for an unknown name, and for a field of the data that no task of the jobs
    that the filter selects has.
    """
    condition = parse_where(text)
    _check(database, condition)
    _check_fields(database, condition, job)
    return condition


def read_job_where(database: Database, text: str) -> Filter:
    """Return a filter of jobs. Raises SpecError, with the nearest name, for an unknown name."""
    condition = Filter(tuple(map(_with_whole_state, parse_job_where(text).terms)))
    _check(database, condition)
    return condition


def _with_whole_state(term: Term) -> Term:
    """Return the term with the full name of its state, such as the long form of `nobody`."""
    return replace(term, value=read_state(str(term.value))) if term.field == "state" else term


def _check(database: Database, condition: Filter) -> None:
    terms = [
        term
        for term in condition.terms
        if term.field in ("tag", "metric") or (term.field in _NAMED and term.operator != "~")
    ]
    if not terms:
        return
    with database.engine.connect() as connection:
        for term in terms:
            if term.field in _NAMED:
                _require(connection, term.field, str(term.value), _names_of(term.field))
            else:
                _require(connection, term.field, term.key, ())


def _check_fields(database: Database, condition: Filter, job: str) -> None:
    """Raises SpecError for a field of the data that no task of the selected jobs has."""
    names = [term.key for term in condition.terms if term.field == "meta"]
    if not names:
        return
    with database.engine.connect() as connection:
        terms = [term for term in condition.terms if term.field in JOB_FIELDS and term.field not in TIMES]
        datasets = list_datasets(connection, terms, job)
        for name in names:
            if datasets and not has_field(connection, datasets, name):
                raise unknown_field(name, list_fields(connection, datasets), "Tasks of the jobs that are asked for")


def _names_of(field: str) -> Collection[str]:
    """Return the names that this version knows for the field. Stored jobs can have further names."""
    if field == "origin":
        return _ORIGINS
    # Imported here, because a filter without such a term must not wait for them.
    from lumos_queue.benchmarks.registry import BENCHMARKS
    from lumos_queue.formulations.registry import FORMULATIONS

    return (BENCHMARKS if field == "benchmark" else FORMULATIONS).names


def _require(connection: Connection, field: str, name: str, names: Collection[str]) -> None:
    """Raises SpecError unless the name is in `names` or a stored job has it. Without any names, all are accepted."""
    if name in names:
        return
    known_names = {*names, *list_stored_names(connection, field)} - {""}
    if known_names and name not in known_names:
        raise unknown(field, name, known_names)
