"""How the samples of a job's tasks were judged, counted in the database, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, case, func, select

from db.models import EpisodeRow, TaskRow
from db.pairs import newest_scores

AT_ONCE = 1000  #: rows fetched together


@dataclass(frozen=True, slots=True)
class SampleKind:
    """How many tasks of a job have so many judged samples, of which so many have the score 1."""

    judged: int
    right: int
    alike: bool  #: whether all of them have the same score
    graded: bool  #: whether one of them is neither 0 nor 1, or the mean of several trials
    tasks: int


def sample_kinds(connection: Connection, job: str, metric: str) -> list[SampleKind]:
    """The tasks of a job with a score of the metric, counted by their samples, in an order that is always the same."""
    one = newest_scores(connection, job, metric).c
    graded = case((one.value.in_((0, 1)) & (one.trials == 1), 0), else_=1)
    each = (
        select(
            func.count().label("judged"),
            func.sum(case((one.value == 1, 1), else_=0)).label("correct"),
            case((func.min(one.value) == func.max(one.value), 1), else_=0).label("alike"),
            func.max(graded).label("graded"),
        )
        .group_by(one.task)
        .subquery()
        .c
    )
    counted: Any = select(*each, func.count())
    rows: Any = connection.execute(counted.group_by(*each).order_by(*each))
    return [SampleKind(int(row[0]), int(row[1]), bool(row[2]), bool(row[3]), int(row[4])) for row in rows]


@dataclass(frozen=True, slots=True)
class TaskSamples:
    """The judged samples of a task, in their order."""

    question: str
    answers: list[str | None]
    scores: list[float]


def stream_samples(connection: Connection, job: str, metric: str) -> Iterator[TaskSamples]:
    """Yield the judged samples of each task of a job. An answer that a limit makes worthless is among them."""
    scored = newest_scores(connection, job, metric).c
    rows: Any = connection.execute(
        select(scored.task, TaskRow.question, EpisodeRow.answer, scored.value)
        .join(EpisodeRow, EpisodeRow.id == scored.id)
        .join(TaskRow, TaskRow.id == scored.task)
        .order_by(scored.task, scored.sample)
        .execution_options(yield_per=AT_ONCE)
    )
    for _, group in groupby(rows, key=itemgetter(0)):
        samples = list(group)
        yield TaskSamples(samples[0][1], [row[2] for row in samples], [row[3] for row in samples])
