"""The list of jobs: a page of rows, and the figures of these jobs. One query reads a kind of figure for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, func, or_, select

from db.kinds.states import HIDDEN, ItemState
from db.models import ItemSum, JobRow, ScoreSum
from db.queries.filters import Filter
from db.queries.job_filters import job_condition
from db.queue.stored_jobs import StoredJob, read_jobs, select_jobs
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending


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


def page_of_jobs(connection: Connection, query: Filter, before: str, limit: int) -> list[StoredJob]:
    """Return the newest jobs that match a filter, newest first. The caller has removed its terms `state` and `model`.

    `before`: the id of a job; only jobs submitted before that job are returned. Raises SpecError if there is none.
    """
    conditions = [JobRow.state.not_in(HIDDEN), *(job_condition(connection, term) for term in query.terms)]
    if before:
        last = connection.execute(select(JobRow.created_at).where(JobRow.id == before)).first()
        if last is None:
            raise SpecError(f"No job has the id '{before}': --before takes the whole id of a job.")
        timestamp = last.created_at
        conditions.append(or_(JobRow.created_at < timestamp, and_(JobRow.created_at == timestamp, JobRow.id < before)))
    order = (JobRow.created_at.desc(), JobRow.id.desc())
    return read_jobs(connection.execute(select_jobs().where(*conditions).order_by(*order).limit(limit)))


def count_items(connection: Connection, jobs: Sequence[str]) -> dict[str, ItemCounts]:
    """Count the ended items of each of these jobs. Jobs without ended items are left out."""
    query = select(ItemSum.job, ItemSum.state, ItemSum.ending, func.sum(ItemSum.items))
    rows = connection.execute(query.where(ItemSum.job.in_(jobs)).group_by(ItemSum.job, ItemSum.state, ItemSum.ending))
    completed: dict[str, int] = {}
    without_result: dict[str, int] = {}
    for job, state, ending, items in rows:
        counts = completed if state == ItemState.DONE else without_result
        counts[job] = counts.get(job, 0) + int(items)
        if ending == Ending.INFRA_ERROR:
            without_result[job] = without_result.get(job, 0) + int(items)
    return {job: ItemCounts(completed.get(job, 0), without_result.get(job, 0)) for job in completed | without_result}


def sum_scores(connection: Connection, jobs: Sequence[str]) -> dict[str, tuple[str, ScoreSums]]:
    """Return (main metric, sums of its scores) of each of these jobs that has scores. An infra_error has no score.

    The database adds up, so that the query returns one row for each job.
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
    # A sum over a value that is not a number is NULL in SQLite.
    return {
        row[0]: (row[1], ScoreSums(int(row[2]), *(math.nan if total is None else float(total) for total in row[3:])))
        for row in rows
    }
