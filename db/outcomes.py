"""How the finished episodes of a job came out: by ending and score, over time, and what failed in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Float, Integer, case, cast, distinct, func, literal, or_, select

from db.episode_search import of_accepted_attempt
from db.filter_sql import newest_score
from db.models import EpisodeRow, ExecutionRow, Item, TaskRow, VerdictRow

HALF = 0.5  #: of the main metric: an episode that scores less has failed
NO_FAILURES = ("", "infra_error", "cancelled")  #: endings that say nothing of the agent


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """A finished episode that failed for a reason of its own, not of the infrastructure."""

    ordinal: int
    row: str  #: of its task
    sample: int
    task: int  #: key of its task
    ending: str
    score: float | None
    error: str  #: the status of a failed action, the first in the order of the alphabet; '' where none failed
    verdict: str  #: a verdict that rejects it, likewise


def count_outcomes(connection: Connection, job: str, metric: str) -> list[tuple[str, bool | None, int]]:
    """(ending, whether it scored at least HALF, episodes) of the finished ones; None: it has no score of the metric.

    `metric`: '' where a job has no scores.
    """
    score: Any = newest_score(connection, metric) if metric else cast(None, Float)
    each = select(EpisodeRow.ending, score.label("score")).where(EpisodeRow.job == job, EpisodeRow.ending != "")
    found = each.subquery()
    right = case((found.c.score.is_(None), None), (found.c.score >= HALF, 1), else_=0).label("judged")
    wanted = select(found.c.ending, right, func.count()).group_by(found.c.ending, right).order_by(found.c.ending, right)
    return [(ending, None if one is None else bool(one), count) for ending, one, count in connection.execute(wanted)]


def find_failures(connection: Connection, job: str, metric: str) -> Iterator[FailedEpisode]:
    """The episodes that failed, by their place: those that ended otherwise than by an answer, those that score less
    than HALF, those that a verdict rejects, and without a metric also those in which an action failed."""
    score: Any = newest_score(connection, metric) if metric else cast(None, Float)
    error = (
        select(func.min(ExecutionRow.status))
        .where(*of_accepted_attempt(ExecutionRow), ExecutionRow.status != "ok")
        .scalar_subquery()
    )
    verdict = (
        select(func.min(VerdictRow.name))
        .where(VerdictRow.episode == EpisodeRow.id, VerdictRow.rejects)
        .scalar_subquery()
    )
    each = (
        select(Item.ordinal, TaskRow.row, EpisodeRow.sample, EpisodeRow.task, EpisodeRow.ending)
        .add_columns(score.label("score"), error.label("error"), verdict.label("verdict"))
        .join(Item, Item.id == EpisodeRow.id)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(NO_FAILURES))
        .subquery()
    )
    failed = [each.c.ending != "answered", each.c.score < HALF, each.c.verdict.is_not(None)]
    failed += [] if metric else [each.c.error.is_not(None)]
    wanted = select(each).where(or_(*failed)).order_by(each.c.ordinal)
    for one in connection.execute(wanted.execution_options(yield_per=1000)):
        yield FailedEpisode(
            one.ordinal, one.row, one.sample, one.task, one.ending, one.score, one.error or "", one.verdict or ""
        )


def find_right(connection: Connection, job: str, metric: str) -> dict[tuple[int, int], int]:
    """(task, sample) to place in the job, of the episodes that score at least HALF."""
    each = (
        select(EpisodeRow.task, EpisodeRow.sample, Item.ordinal, newest_score(connection, metric).label("score"))
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(NO_FAILURES))
        .subquery()
    )
    rows = connection.execute(select(each.c.task, each.c.sample, each.c.ordinal).where(each.c.score >= HALF))
    return {(task, sample): ordinal for task, sample, ordinal in rows}


def action_errors(connection: Connection, job: str, limit: int = 20) -> list[tuple[str, str, int, int]]:
    """(status, action, failed actions, episodes) of finished episodes, the commonest first."""
    counted = func.count().label("failed")
    columns = (ExecutionRow.status, ExecutionRow.name)
    rows = connection.execute(
        select(*columns, counted, func.count(distinct(ExecutionRow.episode)))
        .join(EpisodeRow, EpisodeRow.id == ExecutionRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "", ExecutionRow.attempt == EpisodeRow.attempt)
        .where(ExecutionRow.status != "ok")
        .group_by(*columns)
        .order_by(counted.desc(), *columns)
        .limit(limit)
    )
    return [(status, name, failed, episodes) for status, name, failed, episodes in rows]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Finished episodes in equal times, from the first slice's start to the last that finished."""

    start: float  #: seconds since 1970
    width: float  #: seconds of each
    counts: list[tuple[int, int]]  #: (episodes, tokens of their prompts and replies), one for each


def throughput(connection: Connection, job: str, started_at: float | None, buckets: int) -> Throughput | None:
    """None where no episode has a time at which it finished. A clock that was set back makes nothing negative."""
    mine = (EpisodeRow.job == job, EpisodeRow.ending != "", EpisodeRow.finished_at.is_not(None))
    ends = func.min(EpisodeRow.finished_at), func.max(EpisodeRow.finished_at)
    first, last = connection.execute(select(*ends).where(*mine)).one()
    if first is None or last is None:
        return None
    start = first if started_at is None else min(first, started_at)
    width = max((last - start) / buckets, 1e-3)
    place: Any = (EpisodeRow.finished_at - literal(start)) / literal(width)
    # PostgreSQL rounds where SQLite cuts off; not every SQLite has floor().
    number = cast(func.floor(place) if connection.dialect.name == "postgresql" else place, Integer).label("number")
    tokens = func.sum(EpisodeRow.prompt_tokens + EpisodeRow.completion_tokens)
    rows = connection.execute(select(number, func.count(), tokens).where(*mine).group_by(number))
    counts = [(0, 0)] * buckets
    for place_in, episodes, used in rows:
        here = min(max(int(place_in), 0), buckets - 1)  # the last one ends where the last bucket does
        counts[here] = counts[here][0] + episodes, counts[here][1] + int(used or 0)
    return Throughput(start, width, counts)
