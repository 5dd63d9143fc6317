"""The tables of sums over a job's ended items, kept in the transaction that ends an item (db/queue/sums.py).

Each row belongs to one worker session, so that two processes never wait for the same row. Session 0 has the changes of
people and the dispatcher, such as cancelled items. A figure of a job is the sum over all sessions. A row may be
negative or zero, because a session may take back endings that another session has counted.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ForeignKey, Text
from sqlmodel import Field

from db.models.base import Base, Key, Mapped, instant, json
from db.models.totals import TotalColumns


def _job() -> Mapped[str]:
    column = Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    return Field(sa_column=column)


def _session() -> Mapped[int]:
    return Field(sa_column=Column(Key, primary_key=True, autoincrement=False, nullable=False))


def _count() -> Mapped[int]:
    return Field(default=0, sa_type=Key)


class ItemSum(TotalColumns, table=True):
    """Sums over ended items by state. Episodes are also divided by ending, number of subgoals and number of replies."""

    __tablename__ = "item_sum"
    job: Mapped[str] = _job()
    session: Mapped[int] = _session()
    state: Mapped[str] = Field(primary_key=True)  # done, cancelled, quarantined
    ending: Mapped[str] = Field(primary_key=True)  # of its episode; empty: no episode, or not done
    subgoals: Mapped[int] = Field(sa_column=Column(Key, primary_key=True, autoincrement=False))
    replies: Mapped[int] = Field(sa_column=Column(Key, primary_key=True, autoincrement=False))  # including given ones
    items: Mapped[int] = _count()
    action_seconds: Mapped[float] = Field(default=0.0)


class CallSum(Base, table=True):
    """Model calls in the accepted attempts of finished episodes, by role. Seconds are by phase (records.Completion)."""

    __tablename__ = "call_sum"
    job: Mapped[str] = _job()
    session: Mapped[int] = _session()
    role: Mapped[str] = Field(primary_key=True)
    calls: Mapped[int] = _count()
    seconds: Mapped[float] = Field(default=0.0)
    waited: Mapped[float] = Field(default=0.0)
    lost: Mapped[float] = Field(default=0.0)
    queued: Mapped[float] = Field(default=0.0)


class ScoreSum(Base, table=True):
    """The number of episodes with each score, by the newest version of its scorer. An infra_error has no score."""

    __tablename__ = "score_sum"
    job: Mapped[str] = _job()
    session: Mapped[int] = _session()
    metric: Mapped[str] = Field(primary_key=True)
    version: Mapped[str] = Field(primary_key=True)
    value: Mapped[float] = Field(primary_key=True)
    trials: Mapped[int] = Field(sa_column=Column(Key, primary_key=True, autoincrement=False))
    episodes: Mapped[int] = _count()


class VersionSum(Base, table=True):
    """Finished episodes by version of the code (role '') or of a role's prompts, for their accepted attempts."""

    __tablename__ = "version_sum"
    job: Mapped[str] = _job()
    session: Mapped[int] = _session()
    role: Mapped[str] = Field(primary_key=True)  # empty: `value` is a code version; else a digest of text
    value: Mapped[str] = Field(primary_key=True)
    episodes: Mapped[int] = _count()


class BaselineRow(Base, table=True):
    """The scores of rules without a model on tasks of a dataset, computed once for each code version."""

    __tablename__ = "baseline"
    dataset: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("dataset.digest", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    tasks: Mapped[str] = Field(primary_key=True)  # a description of the tasks (db/queue/baselines.py)
    code_version: Mapped[str] = Field(primary_key=True)
    found: Mapped[dict[str, dict[str, Any]]] = json()
    computed_at: Mapped[float] = instant(nullable=False)
