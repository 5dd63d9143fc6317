"""Read the results of a job's items: scores, messages of endings, and outputs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select

from db.kinds.states import ItemState
from db.models import EpisodeRow, Item, ScoreRow
from db.queue.current_scores import is_replaced
from lumos_queue.records import Ending


def values_by_metric(connection: Connection, job: str) -> dict[str, list[tuple[int, float, int]]]:
    """Return (task, value, trials) of each scored episode, by metric. The newest version of a metric's scorer counts.

    An `infra_error` has no score.
    """
    rows = connection.execute(
        select(ScoreRow.metric, EpisodeRow.task, ScoreRow.value, ScoreRow.trials)
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != Ending.INFRA_ERROR, ~is_replaced(connection.dialect.name))
        .order_by(ScoreRow.episode)
    )
    scores: dict[str, list[tuple[int, float, int]]] = {}
    for metric, task, value, trials in rows:
        scores.setdefault(metric, []).append((task, value, trials))
    return scores


def messages(connection: Connection, job: str, limit: int = 10) -> list[tuple[str, str, int]]:
    """Count the episodes that did not end by an answer: (ending, message, episodes), the most frequent first."""
    count = func.count().label("episodes")
    rows = connection.execute(
        select(EpisodeRow.ending, EpisodeRow.message, count)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.ANSWERED)))
        .group_by(EpisodeRow.ending, EpisodeRow.message)
        .order_by(count.desc(), EpisodeRow.message)
        .limit(limit)
    )
    return [(ending, message, episodes) for ending, message, episodes in rows]


def list_latest_failures(connection: Connection, job: str, characters: int, limit: int) -> list[tuple[str, str, int]]:
    """Count the episodes that did not end by an answer: (ending, beginning of the message, episodes), the latest first.

    `characters`: the length of the beginning.
    """
    text = func.substr(EpisodeRow.message, 1, characters)
    rows = connection.execute(
        select(EpisodeRow.ending, text, func.count())
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.ANSWERED)))
        .group_by(EpisodeRow.ending, text)
        .order_by(func.max(EpisodeRow.finished_at).desc())
        .limit(limit)
    )
    return [(ending, message, episodes) for ending, message, episodes in rows]


def outputs(connection: Connection, job: str) -> list[tuple[int, Any]]:
    """Return (ordinal, output) of the finished items of a job whose items are not episodes."""
    rows = connection.execute(
        select(Item.ordinal, Item.output).where(Item.job == job, Item.state == ItemState.DONE).order_by(Item.ordinal)
    )
    return [(ordinal, output) for ordinal, output in rows]
