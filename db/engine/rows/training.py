"""Rows of trainings: optimizer steps, the rewards they learnt from, and models."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from db.engine.rows.declaration import writes_to
from db.models import FeedbackStepRow, ModelRow, TrainingStepRow
from lumos_queue.records import FitProgress

TRAINING_FIGURES = ("loss", "rate", "grad_norm", "tokens", "memory")
FEEDBACK_FIGURES = ("rollouts", "episodes", "reward", "baseline", "feasible", "entropy", "kl", "epsilon")
PROGRESS_FIGURES = tuple(field.name for field in fields(FitProgress))


@writes_to(TrainingStepRow, compare=("item", *TRAINING_FIGURES))
class NewTrainingStep(NamedTuple):
    """An optimizer step. A figure that is infinite is None."""

    job: str
    fit: str
    step: int
    item: int
    loss: float | None
    rate: float | None
    grad_norm: float | None
    tokens: int
    memory: int


@writes_to(FeedbackStepRow, compare=("item", *FEEDBACK_FIGURES))
class NewFeedbackStep(NamedTuple):
    """The rewards from which an optimizer step learnt."""

    job: str
    fit: str
    step: int
    item: int
    rollouts: str
    episodes: int
    reward: float
    baseline: float
    feasible: float | None
    entropy: float
    kl: float
    epsilon: float


@writes_to(ModelRow, stamp="created_at")
class NewModel(NamedTuple):
    """A model that a job has written, or that was imported."""

    name: str
    job: str | None
    item: int | None
    path: str
    kind: str
    digest: str
    bytes: int
    base: str
    builds: str  #: JSON
