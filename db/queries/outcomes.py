"""The outcomes of a job's finished episodes: counts by ending and score, counts over time, and the failed episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Float, Integer, case, cast, distinct, func, literal, or_, select

from db.engine.conditions import Value
from db.models import EpisodeRow, ExecutionRow, Item, TaskRow, VerdictRow
from db.queries.episode_search import of_accepted_attempt
from db.queries.filter_sql import newest_score
from lumos_queue.records import Ending

HALF = 0.5  #: an episode with a lower score by the main metric has failed
NO_FAILURES = ("", Ending.INFRA_ERROR, Ending.CANCELLED)  #: endings that say nothing about the agent


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """A finished episode that failed by itself, and not because of the infrastructure."""

    ordinal: int
    row: str  #: of its task
    sample: int
    task: int  #: key of its task
    ending: str
    score: float | None
    error: str  #: the status of a failed action, the first one in alphabetical order; '' if none failed
    verdict: str  #: a verdict that rejects it, the first one in alphabetical order; '' if none does


def count_outcomes(connection: Connection, job: str, metric: str) -> list[tuple[str, bool | None, int]]:
    """Count finished episodes: (ending, whether the score is at least HALF or None without a score, episodes).

    `metric`: '' if the job has no scores.
    """
    score: Value = newest_score(connection, metric) if metric else cast(None, Float)
    scores = select(EpisodeRow.ending, score.label("score")).where(EpisodeRow.job == job, EpisodeRow.ending != "")
    subquery = scores.subquery()
    right = case((subquery.c.score.is_(None), None), (subquery.c.score >= HALF, 1), else_=0).label("judged")
    query = (
        select(subquery.c.ending, right, func.count())
        .group_by(subquery.c.ending, right)
        .order_by(subquery.c.ending, right)
    )
    return [
        (ending, None if is_right is None else bool(is_right), count)
        for ending, is_right, count in connection.execute(query)
    ]


def find_failures(connection: Connection, job: str, metric: str) -> Iterator[FailedEpisode]:
    """Yield the failed episodes in the job's order.

    An episode has failed if it did not end by an answer, scores less than HALF, or is rejected by a verdict. If
    `metric` is '', an episode with a failed action has failed, too.
    """
    score: Value = newest_score(connection, metric) if metric else cast(None, Float)
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
    episodes = (
        select(Item.ordinal, TaskRow.row, EpisodeRow.sample, EpisodeRow.task, EpisodeRow.ending)
        .add_columns(score.label("score"), error.label("error"), verdict.label("verdict"))
        .join(Item, Item.id == EpisodeRow.id)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(NO_FAILURES))
        .subquery()
    )
    conditions = [episodes.c.ending != Ending.ANSWERED, episodes.c.score < HALF, episodes.c.verdict.is_not(None)]
    conditions += [] if metric else [episodes.c.error.is_not(None)]
    query = select(episodes).where(or_(*conditions)).order_by(episodes.c.ordinal)
    for row in connection.execute(query.execution_options(yield_per=1000)):
        yield FailedEpisode(
            row.ordinal, row.row, row.sample, row.task, row.ending, row.score, row.error or "", row.verdict or ""
        )


def find_right(connection: Connection, job: str, metric: str) -> dict[tuple[int, int], int]:
    """Return the ordinal in the job of each episode that scores at least HALF, by (task, sample)."""
    episodes = (
        select(EpisodeRow.task, EpisodeRow.sample, Item.ordinal, newest_score(connection, metric).label("score"))
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(NO_FAILURES))
        .subquery()
    )
    rows = connection.execute(
        select(episodes.c.task, episodes.c.sample, episodes.c.ordinal).where(episodes.c.score >= HALF)
    )
    return {(task, sample): ordinal for task, sample, ordinal in rows}


def action_errors(connection: Connection, job: str, limit: int = 20) -> list[tuple[str, str, int, int]]:
    """Count failed actions of finished episodes: (status, action, failed actions, episodes), most frequent first."""
    count = func.count().label("failed")
    columns = (ExecutionRow.status, ExecutionRow.name)
    rows = connection.execute(
        select(*columns, count, func.count(distinct(ExecutionRow.episode)))
        .join(EpisodeRow, EpisodeRow.id == ExecutionRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "", ExecutionRow.attempt == EpisodeRow.attempt)
        .where(ExecutionRow.status != "ok")
        .group_by(*columns)
        .order_by(count.desc(), *columns)
        .limit(limit)
    )
    return [(status, name, failures, episodes) for status, name, failures, episodes in rows]


@dataclass(frozen=True, slots=True)
class Throughput:
    """Counts of finished episodes in equal intervals, from the first slice's start to the end of the last episode."""

    start: float  #: seconds since 1970
    width: float  #: seconds of an interval
    counts: list[tuple[int, int]]  #: (episodes, tokens of their prompts and replies) of each interval


def throughput(connection: Connection, job: str, start_time: float | None, buckets: int) -> Throughput | None:
    """Count finished episodes by interval; None if no episode has an end time. No figure is negative."""
    conditions = (EpisodeRow.job == job, EpisodeRow.ending != "", EpisodeRow.finished_at.is_not(None))
    ends = func.min(EpisodeRow.finished_at), func.max(EpisodeRow.finished_at)
    first, last = connection.execute(select(*ends).where(*conditions)).one()
    if first is None or last is None:
        return None
    start = first if start_time is None else min(first, start_time)
    width = max((last - start) / buckets, 1e-3)
    bucket: Value = (EpisodeRow.finished_at - literal(start)) / literal(width)
    # PostgreSQL rounds, SQLite truncates; not every SQLite has floor().
    number = cast(func.floor(bucket) if connection.dialect.name == "postgresql" else bucket, Integer).label("number")
    tokens = func.sum(EpisodeRow.prompt_tokens + EpisodeRow.completion_tokens)
    rows = connection.execute(select(number, func.count(), tokens).where(*conditions).group_by(number))
    counts = [(0, 0)] * buckets
    for bucket_number, episodes, token_count in rows:
        index = min(max(int(bucket_number), 0), buckets - 1)  # the last episode ends at the end of the last bucket
        counts[index] = counts[index][0] + episodes, counts[index][1] + int(token_count or 0)
    return Throughput(start, width, counts)
