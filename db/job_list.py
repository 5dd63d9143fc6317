"""The list of jobs: a page of their rows, and the figures of all of them by one query for each kind of figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, or_, select

from db.connection import now
from db.models import ItemSum, JobRow, JobTag, ScoreSum
from db.states import HIDDEN, ItemState
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are listed; what is empty does not matter."""

    name: str = ""  #: a part of it, whether in capitals or not
    benchmark: str = ""
    tags: Mapping[str, str | None] = field(default_factory=dict)  #: key to value; None: any value
    before: str = ""  #: only jobs that were submitted before this one: its id


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """Ended items of a job."""

    done: int = 0
    lacking: int = 0  #: ended without a result: cancelled, quarantined, an infra_error


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """Sums over a job's scores v of one metric with weights w, their trials (scoring/moments.py)."""

    n: int
    w: float
    wv: float
    ww: float
    wwv: float
    wwvv: float
    least: float  #: of the values
    greatest: float


def page_of_jobs(connection: Connection, wanted: JobFilter, limit: int) -> list[Row]:
    """The newest jobs that match, the newest first. Raises SpecError when `before` names no job."""
    matching: list[ColumnElement[bool]] = [JobRow.state.not_in(HIDDEN)]
    if wanted.name:
        matching.append(func.lower(JobRow.name).contains(wanted.name.lower(), autoescape=True))
    if wanted.benchmark:
        matching.append(JobRow.benchmark == wanted.benchmark)
    for key, value in wanted.tags.items():
        tag = [JobTag.job == JobRow.id, JobTag.key == key]
        matching.append(exists().where(*tag, *([] if value is None else [JobTag.value == value])))
    if wanted.before:
        last = connection.execute(select(JobRow.created_at).where(JobRow.id == wanted.before)).first()
        if last is None:
            raise SpecError(f"No job has the id '{wanted.before}': --before takes the whole id of one.")
        at = last.created_at
        matching.append(or_(JobRow.created_at < at, and_(JobRow.created_at == at, JobRow.id < wanted.before)))
    order = (JobRow.created_at.desc(), JobRow.id.desc())
    return list(connection.execute(select(JobRow.__table__).where(*matching).order_by(*order).limit(limit)))


def count_items(connection: Connection, jobs: Sequence[str]) -> dict[str, ItemCounts]:
    """The ended items of each of these jobs that has some."""
    wanted = select(ItemSum.job, ItemSum.state, ItemSum.ending, func.sum(ItemSum.items))
    rows = connection.execute(wanted.where(ItemSum.job.in_(jobs)).group_by(ItemSum.job, ItemSum.state, ItemSum.ending))
    done: dict[str, int] = {}
    lacking: dict[str, int] = {}
    for job, state, ending, items in rows:
        into = done if state == ItemState.DONE else lacking
        into[job] = into.get(job, 0) + int(items)
        if ending == Ending.INFRA_ERROR:
            lacking[job] = lacking.get(job, 0) + int(items)
    return {job: ItemCounts(done.get(job, 0), lacking.get(job, 0)) for job in done | lacking}


def sum_scores(connection: Connection, jobs: Sequence[str]) -> dict[str, tuple[str, ScoreSums]]:
    """The main metric of each of these jobs that has scores, and their sums; an infra_error has none.

    One row for each job comes back, also where every score has another value.
    """
    w, v, n = ScoreSum.trials, ScoreSum.value, ScoreSum.episodes
    sums = (n, w * n, w * v * n, w * w * n, w * w * v * n, w * w * v * v * n)
    rows = connection.execute(
        select(ScoreSum.job, ScoreSum.metric, *map(func.sum, sums), func.min(v), func.max(v))
        .join(JobRow, JobRow.id == ScoreSum.job)
        .where(ScoreSum.job.in_(jobs), ScoreSum.metric == JobRow.main_metric)
        .group_by(ScoreSum.job, ScoreSum.metric)
        .having(func.sum(n) > 0)
    )
    # A sum over what is not a number is NULL in SQLite.
    return {
        row[0]: (row[1], ScoreSums(int(row[2]), *(math.nan if one is None else float(one) for one in row[3:])))
        for row in rows
    }


def clock_of(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock."""
    return float(connection.execute(select(now())).scalar_one())
