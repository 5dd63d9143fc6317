"""Suggest labels: judgements of an episode by models and metrics, which are hidden until a person has labelled it."""

from __future__ import annotations

from dataclasses import replace

from db.engine.connection import Connection
from db.queries.judgements import find_judgements
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.scoring.sampling import AuditKind, decide_verdict

MAX_METRICS = 3  #: the number of metrics in the suggestions


def without_suggestions(episode: EpisodeReport) -> EpisodeReport:
    """Return an episode without the judgements on it."""
    return replace(episode, scores=(), verdicts=(), earlier_endings=())


def read_suggestions(connection: Connection, episode: int, kind: str) -> list[str]:
    """Return suggestions as texts such as `accuracy says wrong`, or in an audit of annotations that of the check."""
    judgements = find_judgements(connection, episode)
    if judgements is None:
        return []
    if kind == AuditKind.ANNOTATIONS:
        return [f"the check accepts it ({judgements.level})"]
    scores = judgements.scores
    names = sorted(scores, key=lambda metric: (metric != judgements.main_metric, metric))
    return [_describe(metric, scores[metric]) for metric in names[:MAX_METRICS]]


def _describe(metric: str, value: float) -> str:
    exact = "" if value in (0, 1) else f" ({value:g})"
    return f"{metric.replace('_', ' ')} says {decide_verdict(value)}{exact}"
