"""Find the first episode of a job that failed in a certain way, as an example for a report."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from db.engine.conditions import Condition
from db.models import EpisodeRow, Item, TaskRow
from db.queries.filter_sql import newest_score
from db.queries.outcomes import HALF
from lumos_queue.records import Ending


@dataclass(frozen=True, slots=True)
class ExampleEpisode:
    """An episode of a job with its answer."""

    ordinal: int  #: its number in the job
    message: str
    answer: str | None
    gold: object  #: the gold answer of its task, as it is stored


def find_ending_example(
    connection: Connection, job: str, ending: str, message: str | None, metric: str
) -> ExampleEpisode | None:
    """Return the first episode of the job that ended in this way and is not right; None if there is none.

    `message`: its message; None for any message. `metric`: by which a score of at least HALF is right; '' for none.
    """
    conditions = [] if message is None else [EpisodeRow.message == message]
    if metric:
        score = newest_score(connection, metric)
        conditions.append(or_(score.is_(None), score < HALF))
    return _find(connection, job, EpisodeRow.ending == ending, *conditions)


def find_wrong_example(connection: Connection, job: str, metric: str) -> ExampleEpisode | None:
    """Return the first episode of the job that ended by an answer and scores less than HALF by the metric."""
    return _find(connection, job, EpisodeRow.ending == Ending.ANSWERED, newest_score(connection, metric) < HALF)


def _find(connection: Connection, job: str, *conditions: Condition) -> ExampleEpisode | None:
    row = connection.execute(
        select(Item.ordinal, EpisodeRow.message, EpisodeRow.answer, TaskRow.gold)
        .join(EpisodeRow, EpisodeRow.id == Item.id)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .where(EpisodeRow.job == job, *conditions)
        .order_by(EpisodeRow.id)
        .limit(1)
    ).first()
    return None if row is None else ExampleEpisode(row.ordinal, row.message, row.answer, row.gold)
