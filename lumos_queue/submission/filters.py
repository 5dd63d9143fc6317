"""Filters as people write them: a name in one that neither this version nor any stored job knows is an error."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from db.connection import Database
from db.filters import JOB_FIELDS, TIMES, Filter, Term, parse_job_where, parse_where
from db.job_filters import job_condition
from db.models import JobRow, JobTag, ScoreSum
from db.task_fields import has_field, list_fields, unknown_field
from lumos_queue.errors import unknown
from lumos_queue.reports.real_state import read_state

_ORIGINS = ("run", "converted", "derived", "imported", "corrected")
_NAMED = ("benchmark", "formulation", "origin")  #: fields whose values are names; `tag` and `metric` have them as keys


def read_where(database: Database, text: str, job: str = "") -> Filter:
    """A filter of episodes (docs/queries.md), of the `job` alone where one is named.

    Raises SpecError, with the nearest name, for what is not known. A field of the data must be known to the jobs that
    the filter asks for.
    """
    wanted = parse_where(text)
    _check(database, wanted)
    _check_fields(database, wanted, job)
    return wanted


def read_job_where(database: Database, text: str) -> Filter:
    """A filter of jobs. Raises SpecError, with the nearest name, for what is not known."""
    wanted = Filter(tuple(map(_with_whole_state, parse_job_where(text).terms)))
    _check(database, wanted)
    return wanted


def _with_whole_state(one: Term) -> Term:
    """`nobody` stands for a state of several words."""
    return replace(one, value=read_state(str(one.value))) if one.field == "state" else one


def _check(database: Database, wanted: Filter) -> None:
    named = [
        one for one in wanted.terms if one.field in ("tag", "metric") or (one.field in _NAMED and one.operator != "~")
    ]
    if not named:
        return
    with database.engine.connect() as connection:
        for one in named:
            match one.field:
                case "tag":
                    _require(connection, "tag", one.key, (), JobTag.key)
                case "metric":
                    _require(connection, "metric", one.key, (), ScoreSum.metric)
                case field:
                    _require(connection, field, str(one.value), _names_of(field), getattr(JobRow, field))


def _check_fields(database: Database, wanted: Filter, job: str) -> None:
    """Raises SpecError for a field of the data that no task of the jobs that are asked for has."""
    named = [one.key for one in wanted.terms if one.field == "meta"]
    if not named:
        return
    with database.engine.connect() as connection:
        terms = [one for one in wanted.terms if one.field in JOB_FIELDS and one.field not in TIMES]
        jobs = select(JobRow.dataset).where(*(job_condition(connection, one) for one in terms)).distinct()
        if job:
            jobs = jobs.where(JobRow.id == job)
        datasets = [one for one in connection.execute(jobs).scalars() if one]
        for name in named:
            if datasets and not has_field(connection, datasets, name):
                raise unknown_field(name, list_fields(connection, datasets), "Tasks of the jobs that are asked for")


def _names_of(field: str) -> Collection[str]:
    """The names that there are beside those of stored jobs."""
    if field == "origin":
        return _ORIGINS
    # Here, as a list of jobs without such a term must not wait for them.
    from lumos_queue.benchmarks.registry import BENCHMARKS
    from lumos_queue.formulations.registry import FORMULATIONS

    return (BENCHMARKS if field == "benchmark" else FORMULATIONS).names


def _require(connection: Connection, what: str, name: str, names: Collection[str], column: Any) -> None:
    """Raises SpecError unless the name is one of these, or stored. Where there are none at all, any will do."""
    if name in names:
        return
    known = {*names, *connection.execute(select(column).distinct()).scalars()} - {""}
    if known and name not in known:
        raise unknown(what, name, known)
