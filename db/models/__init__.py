"""Every table. SQLModel declares the tables; very many rows are written as NamedTuples (db/engine/rows/).

All times are seconds since 1970 UTC by the database's clock (columns `…_at`); durations are seconds.

A module of tables is imported with the first of its tables: declaring all tables takes a tenth of a second, and a
command that reads needs few. Importing `Base`, whose metadata has the declared tables, declares all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.models.base import Base
    from db.models.episodes import Attempt, EndingHistory, EpisodeRow, ScoreRow, VerdictRow
    from db.models.jobs import Dataset, Item, JobEndpoint, JobRow, JobTag, TaskRow
    from db.models.review import Audit, AuditSample, Label, Reservation, Scoring, WebAction
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
    from db.models.training import FeedbackStepRow, ModelRow, TrainingProgressRow, TrainingStepRow
    from db.models.workers import EndpointCap, EndpointShare, Heartbeat, RefusedMessage, WorkerSessionRow

_TABLES = {
    "episodes": ("Attempt", "EndingHistory", "EpisodeRow", "ScoreRow", "VerdictRow"),
    "jobs": ("Dataset", "Item", "JobEndpoint", "JobRow", "JobTag", "TaskRow"),
    "review": ("Audit", "AuditSample", "Label", "Reservation", "Scoring", "WebAction"),
    "steps": (
        "STEPS",
        "Approval",
        "Artifact",
        "CompletionRow",
        "DatasetArtifact",
        "EpisodeArtifact",
        "ExecutionRow",
        "SubgoalRow",
        "TextBlock",
        "ToolCallRow",
    ),
    "sums": ("BaselineRow", "CallSum", "ItemSum", "ScoreSum", "VersionSum"),
    "training": ("FeedbackStepRow", "ModelRow", "TrainingProgressRow", "TrainingStepRow"),
    "workers": ("EndpointCap", "EndpointShare", "Heartbeat", "RefusedMessage", "WorkerSessionRow"),
}
_MODULE_OF = {name: module for module, names in _TABLES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "Base":
        for module in _TABLES:
            import_module(f"{__name__}.{module}")
        base = import_module(f"{__name__}.base")
        base.add_conditions(base.Base.metadata)
        return base.Base
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


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
    "Reservation",
    "ScoreRow",
    "ScoreSum",
    "Scoring",
    "SubgoalRow",
    "TaskRow",
    "TextBlock",
    "ToolCallRow",
    "TrainingProgressRow",
    "TrainingStepRow",
    "VerdictRow",
    "VersionSum",
    "WebAction",
    "WorkerSessionRow",
]
