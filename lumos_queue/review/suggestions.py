"""Suggest labels: judgements of an episode by models and metrics, which are hidden until a person has labelled it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from db.models import EpisodeRow, JobRow, ScoreRow
from lumos_queue.scoring.sampling import AuditKind, decide_verdict

MAX_METRICS = 3  #: the number of metrics in the suggestions
HIDDEN_FIELDS = ("scores", "verdicts", "earlier_endings")  #: fields of a trajectory that are lists of judgements


def without_suggestions(trajectory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trajectory (reports.trajectory.trajectory_as_json) without the judgements on it."""
    return {name: [] if name in HIDDEN_FIELDS else value for name, value in trajectory.items()}


def read_suggestions(connection: Connection, episode: int, kind: str) -> list[str]:
    """Return suggestions as texts such as `accuracy says wrong`, or in an audit of annotations that of the check."""
    row: Any = connection.execute(
        select(EpisodeRow.level, JobRow.main_metric)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(EpisodeRow.id == episode)
    ).first()
    if row is None:
        return []
    scores = connection.execute(
        select(ScoreRow.metric, ScoreRow.version, ScoreRow.value).where(ScoreRow.episode == episode)
    )
    newest: dict[str, float] = {}
    for metric, _, value in sorted(scores, key=lambda score: score.version.encode()):
        newest[metric] = value
    if kind == AuditKind.ANNOTATIONS:
        return [f"the check accepts it ({row.level})"]
    names = sorted(newest, key=lambda metric: (metric != row.main_metric, metric))
    return [_describe(metric, newest[metric]) for metric in names[:MAX_METRICS]]


def _describe(metric: str, value: float) -> str:
    exact = "" if value in (0, 1) else f" ({value:g})"
    return f"{metric.replace('_', ' ')} says {decide_verdict(value)}{exact}"
