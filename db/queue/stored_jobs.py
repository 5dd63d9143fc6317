"""A job as it is stored: the values of its row, and the columns to select for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Column, select

from db.engine.conditions import Query
from db.models import JobRow


@dataclass(frozen=True, slots=True)
class StoredJob:
    """The values of a job's row, which db/models/jobs.py explains. Each field is a column.

    A damaged row (db/queries/damage.py) has values of other types, too.
    """

    id: str
    kind: str  #: a JobKind
    pool: str  #: a Pool
    digest: str
    spec: dict[str, Any]
    dataset: str | None
    benchmark: str
    formulation: str
    agent: str
    items: int
    ordered: bool
    state: str  #: a JobState
    waiting: str
    awaits: str | None
    not_before_at: float
    waits: int
    project: str
    submitted_by: str
    priority: int
    concurrency: int
    origin: str  #: an Origin
    licence: str
    split: str
    seed: int
    code_version: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    name: str
    parent: str | None
    main_metric: str
    plugins: list[dict[str, Any]] | None
    chosen: str


@dataclass(frozen=True, slots=True)
class AwaitedJob(StoredJob):
    """An open job that another job waits for."""

    done: int  #: items that are done


#: The columns of a statement whose rows are the values of a StoredJob, in this order.
JOB_COLUMNS: tuple[Column[Any], ...] = tuple(JobRow.__table__.columns[field.name] for field in fields(StoredJob))


def select_jobs() -> Query:
    """Return a statement of all jobs, to which conditions are added; `read_jobs` reads its rows."""
    return select(*JOB_COLUMNS)


def read_jobs(rows: Iterable[Iterable[Any]]) -> list[StoredJob]:
    """Return the jobs of the rows of a statement that selects JOB_COLUMNS."""
    return [StoredJob(*row) for row in rows]
