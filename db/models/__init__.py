"""Every table. SQLModel declares and reads; the hot path writes tuples (db/bulk.py).

All times are seconds since 1970 UTC by the database's clock (columns `…_at`); durations are seconds.
"""

from __future__ import annotations

from db.models.base import Base
from db.models.episodes import Attempt, EndingHistory, EpisodeRow, ScoreRow, VerdictRow
from db.models.jobs import Dataset, Item, JobEndpoint, JobRow, JobTag, TaskRow
from db.models.review import Audit, AuditSample, Label
from db.models.steps import (
    STEPS,
    Approval,
    Artifact,
    CompletionRow,
    DatasetArtifact,
    EpisodeArtifact,
    ExecutionRow,
    SubgoalRow,
    TextBlock,
    ToolCallRow,
)
from db.models.sums import BaselineRow, CallSum, ItemSum, ScoreSum, VersionSum
from db.models.training import FeedbackStepRow, ModelRow, TrainingStepRow
from db.models.workers import EndpointCap, EndpointShare, Heartbeat, RefusedMessage, WorkerSessionRow

__all__ = [
    "STEPS",
    "Approval",
    "Artifact",
    "Attempt",
    "Audit",
    "AuditSample",
    "Base",
    "BaselineRow",
    "CallSum",
    "CompletionRow",
    "Dataset",
    "DatasetArtifact",
    "EndingHistory",
    "EndpointCap",
    "EndpointShare",
    "EpisodeArtifact",
    "EpisodeRow",
    "ExecutionRow",
    "FeedbackStepRow",
    "Heartbeat",
    "Item",
    "ItemSum",
    "JobEndpoint",
    "JobRow",
    "JobTag",
    "Label",
    "ModelRow",
    "RefusedMessage",
    "ScoreRow",
    "ScoreSum",
    "SubgoalRow",
    "TaskRow",
    "TextBlock",
    "ToolCallRow",
    "TrainingStepRow",
    "VerdictRow",
    "VersionSum",
    "WorkerSessionRow",
]
