"""The tables of training: the optimizer steps of fits, and the resulting models."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Text, UniqueConstraint
from sqlmodel import Field

from db.models.base import Base, Key, Mapped, instant, json, key, refers


class TrainingStepRow(Base, table=True):
    """One optimizer step of a fit. It is written when its item ends, so a window that was interrupted has no rows."""

    __tablename__ = "training_step"
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    fit: Mapped[str] = Field(primary_key=True)  # its name within the job; empty: the job has one fit
    step: Mapped[int] = Field(primary_key=True)  # from 1
    item: Mapped[int] = refers("item.id", index=True)
    loss: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))  # nats per learnt token; null: infinite
    rate: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))  # peak, of the first group of parameters
    grad_norm: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))  # before clipping
    tokens: Mapped[int] = Field(sa_type=Key)  # real ones, without padding
    memory: Mapped[int] = Field(sa_type=Key)  # bytes: peak of the GPU, or resident on a CPU


class FeedbackStepRow(Base, table=True):
    """The rewards from which one optimizer step learnt. It is written together with the row of that step."""

    __tablename__ = "feedback_step"
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    fit: Mapped[str] = Field(primary_key=True)
    step: Mapped[int] = Field(primary_key=True)
    item: Mapped[int] = refers("item.id", index=True)
    rollouts: Mapped[str]  # the job whose episodes they are; it may have been removed since
    episodes: Mapped[int]
    reward: Mapped[float]
    baseline: Mapped[float]
    feasible: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    entropy: Mapped[float]
    kl: Mapped[float]
    epsilon: Mapped[float]


class TrainingProgressRow(Base, table=True):
    """What the process that works on a fit has reported last. Its steps are accepted only when its item ends.

    An unknown figure is null.
    """

    __tablename__ = "training_progress"
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    fit: Mapped[str] = Field(primary_key=True)  # its name within the job; empty: the job has one fit
    item: Mapped[int] = refers("item.id", index=True)
    claim: Mapped[int]  # of the item, by the process that continued the fit at `start_step`
    session: Mapped[int] = Field(sa_type=Key)  # the worker session that wrote the row
    at: Mapped[float] = instant(nullable=False)  # of this write
    phase: Mapped[str]  # a FitPhase
    phase_seconds: Mapped[float]  # that the phase had lasted
    step: Mapped[int]  # the latest; 0: none
    steps: Mapped[int]  # of the whole fit; 0: not known
    start_step: Mapped[int | None]
    loss: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    rate: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    grad_norm: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    tokens_per_second: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    memory: Mapped[int | None] = Field(sa_column=Column(Key, nullable=True))  # bytes
    seconds_left: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    reward: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    kl: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    entropy: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    dev_loss: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    best_step: Mapped[int | None]
    best_dev_loss: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))
    checkpoint_step: Mapped[int]  # of the newest checkpoint; 0: none
    checkpoint_seconds: Mapped[float | None] = Field(sa_column=Column(Float, nullable=True))  # between checkpoints
    memory_estimate: Mapped[int | None] = Field(sa_column=Column(Key, nullable=True))  # bytes
    points: Mapped[list[list[float]]] = json()  # [step, loss or reward] of the item at work
    restarts: Mapped[list[dict[str, float]]] = json()  # when a process continued the fit: step, steps lost, time


class ModelRow(Base, table=True):
    """A model or an adapter that a job has written: the path of its files, and what it was made from."""

    __tablename__ = "model"
    __table_args__ = (UniqueConstraint("item", "path"),)
    id: Mapped[int] = key()
    name: Mapped[str] = Field(index=True)
    job: Mapped[str | None] = Field(
        default=None, sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=True, index=True)
    )
    item: Mapped[int | None] = Field(
        default=None, sa_column=Column(Key, ForeignKey("item.id", ondelete="CASCADE"), nullable=True)
    )
    path: Mapped[str] = Field(sa_column=Column(Text, nullable=False))
    kind: Mapped[str]  # full, adapter
    digest: Mapped[str] = Field(index=True)  # sha256 of its files
    bytes: Mapped[int] = Field(sa_type=Key)
    base: Mapped[str] = Field(default="")  # digest of the model it started from; empty: random weights
    builds: Mapped[list[str]] = json()  # digests or names of the training sets, a list
    created_at: Mapped[float] = instant(nullable=False)
