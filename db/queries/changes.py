"""The last change of jobs and audits, by which a reader knows whether a result that was computed before is current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from db.engine.conditions import Query, is_one_of
from db.kinds.states import OPEN, JobState
from db.models import AuditSample, ItemSum, JobEndpoint, JobRow, JobTag, Label, ScoreSum, Scoring


@dataclass(frozen=True, slots=True)
class Change:
    """The state of a subject at one moment. If marks are equal and not empty, nothing has changed between them."""

    mark: tuple[object, ...]
    is_open: bool = False  #: whether work is in progress that changes the subject all the time


#: The change of all jobs together. Its mark would be a query over all rows.
ALL_JOBS = Change((), is_open=True)


def find_job_change(connection: Connection, jobs: Sequence[str]) -> Change:
    """Return the last change of jobs (their ids): of their rows, episodes, scores, labels and tags.

    It reads the kept sums (db/models/sums.py), so that its time does not depend on the number of episodes.
    """
    ids = list(jobs)
    columns = (JobRow.id, JobRow.state, JobRow.name, JobRow.main_metric, JobRow.waiting)
    times = (JobRow.started_at, JobRow.finished_at)
    job_query = select(*columns, *times).where(is_one_of(JobRow.id, ids)).order_by(JobRow.id)
    rows = connection.execute(job_query).all()
    tag_query = select(JobTag.job, JobTag.key, JobTag.value).where(is_one_of(JobTag.job, ids))
    tags = connection.execute(tag_query.order_by(JobTag.job, JobTag.key)).all()
    figures = connection.execute(_count_job_rows(ids)).one()
    mark = (*map(tuple, rows), *map(tuple, tags), *figures, *_mark_labels(connection))
    return Change(mark, any(row.state in (*OPEN, JobState.IMPORTING, JobState.CANCELLING) for row in rows))


def find_audit_change(connection: Connection, audit: str) -> Change:
    """Return the last change of an audit: of its places and labels."""
    places = select(func.count(), func.coalesce(func.sum(AuditSample.labels_left), 0))
    counts = connection.execute(places.where(AuditSample.audit == audit)).one()
    return Change((*counts, *_mark_labels(connection)))


def _count_job_rows(jobs: list[str]) -> Query:
    """Return the query for counts that change with the episodes, their scores and their servers."""
    squares = func.sum(ScoreSum.episodes * ScoreSum.episodes)  # a later scorer moves episodes to other rows
    columns_by_table = {
        ItemSum: (func.count(), *map(func.sum, (ItemSum.items, ItemSum.calls, ItemSum.prompt_tokens))),
        ScoreSum: (func.count(), func.sum(ScoreSum.episodes), squares),
        Scoring: (func.count(), func.max(Scoring.scored_at)),
        JobEndpoint: (func.max(JobEndpoint.id),),
    }
    return select(
        *(
            select(column).select_from(table).where(is_one_of(table.job, jobs)).scalar_subquery()
            for table, columns in columns_by_table.items()
            for column in columns
        )
    )


def _mark_labels(connection: Connection) -> tuple[object, ...]:
    """Return a mark of all labels: one that is taken back, or given again with the same key, changes it."""
    newest = select(Label.id, Label.labelled_at).order_by(Label.id.desc()).limit(1)
    return connection.execute(select(func.count()).select_from(Label)).scalar_one(), *(
        connection.execute(newest).first() or ()
    )
