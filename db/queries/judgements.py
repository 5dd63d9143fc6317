"""Read the judgements of models and metrics on one episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from db.models import EpisodeRow, JobRow, ScoreRow
from db.queue.current_scores import is_replaced


@dataclass(frozen=True, slots=True)
class EpisodeJudgements:
    """The judgements on an episode."""

    level: str  #: of the check that accepted an annotation
    main_metric: str  #: of the episode's job
    scores: Mapping[str, float]  #: by metric, of the newest version of each scorer


def find_judgements(connection: Connection, episode: int) -> EpisodeJudgements | None:
    """Return the judgements on the episode with this key; None if there is no such episode."""
    row = connection.execute(
        select(EpisodeRow.level, JobRow.main_metric)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(EpisodeRow.id == episode)
    ).first()
    if row is None:
        return None
    query = select(ScoreRow.metric, ScoreRow.value).where(ScoreRow.episode == episode)
    rows = connection.execute(query.where(~is_replaced(connection.dialect.name)))
    return EpisodeJudgements(row.level, row.main_metric, {metric: value for metric, value in rows})
