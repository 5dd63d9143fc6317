"""Filters as people write them: a name in one that neither this version nor any stored job knows is an error."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from db.connection import Database
from db.filters import Filter, Term, parse_job_where, parse_where
from db.models import JobRow, JobTag, ScoreSum
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.errors import unknown
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.reports.real_state import read_state

#: Field to the names that there are beside those of stored jobs.
_NAMES: dict[str, Collection[str]] = {
    "benchmark": BENCHMARKS.names,
    "formulation": FORMULATIONS.names,
    "origin": ("run", "converted", "derived", "imported", "corrected"),
}


def read_where(database: Database, text: str) -> Filter:
    """A filter of episodes (docs/queries.md). Raises SpecError, with the nearest name, for what is not known."""
    wanted = parse_where(text)
    _check(database, wanted)
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
        one for one in wanted.terms if one.field in ("tag", "metric") or (one.field in _NAMES and one.operator != "~")
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
                    _require(connection, field, str(one.value), _NAMES[field], getattr(JobRow, field))


def _require(connection: Connection, what: str, name: str, names: Collection[str], column: Any) -> None:
    """Raises SpecError unless the name is one of these, or stored. Where there are none at all, any will do."""
    if name in names:
        return
    known = {*names, *connection.execute(select(column).distinct()).scalars()} - {""}
    if known and name not in known:
        raise unknown(what, name, known)
