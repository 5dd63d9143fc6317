"""Which code computed the scores of a job, at the end of its episodes and afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.review.scorings import scorings_of
from lumos_queue.reports.json_values import OPTIONAL


@dataclass(frozen=True, slots=True)
class Scorers:
    """The scorers of an evaluation."""

    at_limit: str  #: what a score counts for an episode that ended at a limit
    versions: Mapping[str, Mapping[str, int]]  #: scored episodes, by metric and version of its scorer
    remarks: Sequence[str] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class AddedScore:
    """A scorer whose scores were added after the run."""

    metric: str
    version: str
    scorer: str
    code: str
    scored_by: str
    scored_at: float


def list_added_scores(connection: Connection, job: str) -> list[AddedScore]:
    """Return which code computed the scores that were added after the run."""
    return [
        AddedScore(scoring.metric, scoring.version, scoring.scorer, scoring.code, scoring.scored_by, scoring.scored_at)
        for scoring in scorings_of(connection, job)
    ]


def list_added_metrics(connection: Connection, job: str) -> list[str]:
    """Return the metrics that scorers added after the run."""
    return list(dict.fromkeys(scoring.metric for scoring in scorings_of(connection, job)))
