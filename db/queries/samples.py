"""Read the scores of the samples of a job's tasks, counted by the database, and the answers of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection, case, func, select

from db.engine.conditions import Query
from db.models import EpisodeRow, TaskRow
from db.queries.pairs import newest_scores

AT_ONCE = 1000  #: rows fetched together


@dataclass(frozen=True, slots=True)
class SampleKind:
    """The number of tasks of a job that have `judged` scored samples, of which `right` samples have the score 1."""

    judged: int
    right: int
    alike: bool  #: whether all of them have the same score
    graded: bool  #: whether a score is neither 0 nor 1, or is the mean of several trials
    tasks: int


def sample_kinds(connection: Connection, job: str, metric: str) -> list[SampleKind]:
    """Count the tasks of a job by the numbers and scores of their scored samples, in a fixed order."""
    scores = newest_scores(connection, job, metric).c
    is_graded = case((scores.value.in_((0, 1)) & (scores.trials == 1), 0), else_=1)
    columns = (
        select(
            func.count().label("judged"),
            func.sum(case((scores.value == 1, 1), else_=0)).label("correct"),
            case((func.min(scores.value) == func.max(scores.value), 1), else_=0).label("alike"),
            func.max(is_graded).label("graded"),
        )
        .group_by(scores.task)
        .subquery()
        .c
    )
    query: Query = select(*columns, func.count())
    rows = connection.execute(query.group_by(*columns).order_by(*columns))
    return [SampleKind(int(row[0]), int(row[1]), bool(row[2]), bool(row[3]), int(row[4])) for row in rows]


@dataclass(frozen=True, slots=True)
class TaskSamples:
    """The scored samples of a task, in the order of their numbers."""

    question: str
    answers: list[str | None]
    scores: list[float]


def stream_samples(connection: Connection, job: str, metric: str) -> Iterator[TaskSamples]:
    """Yield the scored samples of each task of a job. Answers that do not count because of a limit are included."""
    scores = newest_scores(connection, job, metric).c
    rows = connection.execute(
        select(scores.task, TaskRow.question, EpisodeRow.answer, scores.value)
        .join(EpisodeRow, EpisodeRow.id == scores.id)
        .join(TaskRow, TaskRow.id == scores.task)
        .order_by(scores.task, scores.sample)
        .execution_options(yield_per=AT_ONCE)
    )
    for _, group in groupby(rows, key=itemgetter(0)):
        samples = list(group)
        yield TaskSamples(samples[0][1], [row[2] for row in samples], [row[3] for row in samples])
