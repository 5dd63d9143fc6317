"""Collect the figures of a training job's report: the parts in which it trained, optimizer steps and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from db.engine.connection import Connection
from db.queries.results import outputs
from db.queue.training_steps import list_feedback, list_models, list_steps, summarize_fits
from lumos_queue.reports.json_values import MERGED, OPTIONAL


@dataclass(frozen=True, slots=True)
class TrainingPart:
    """An item of a training job: the steps between two checkpoints of a fit, or another part of its work."""

    item: int  #: its number
    output: Mapping[str, Any] = field(metadata=MERGED)  #: the stored output (training/report.py, training/rltf/work.py)

    @property
    def fit(self) -> str:
        return self.output.get("fit", "")

    @property
    def step(self) -> int:
        """The number of the last step."""
        return self.output["step"]

    @property
    def loss(self) -> float | None:
        return self.output.get("loss")

    @property
    def dev_loss(self) -> float | None:
        return self.output.get("dev_loss")

    @property
    def reward(self) -> float | None:
        """The mean reward of a step that learnt from rewards; None for other parts."""
        return self.output.get("reward")

    @property
    def tokens(self) -> int:
        return self.output["tokens"]

    @property
    def tokens_per_second(self) -> float:
        return self.output["tokens_per_second"]

    @property
    def seconds(self) -> float:
        return self.output["seconds"]

    @property
    def notes(self) -> Sequence[str]:
        return self.output.get("notes", ())

    @property
    def counts(self) -> Mapping[str, Any]:
        """The figures of a part that fits nothing, such as the number of rows that it has read."""
        return self.output.get("counts") or self.output


@dataclass(frozen=True, slots=True)
class FitFigures:
    """A summary of the steps of a fit. A loss that is infinite is None."""

    fit: str  #: '' for the only one
    steps: int
    tokens: int
    first_loss: float | None
    last_loss: float | None
    memory: int | None  #: peak, in bytes
    dev_loss: float | None = field(default=None, metadata=OPTIONAL)  #: the latest


@dataclass(frozen=True, slots=True)
class LossStep:
    """An optimizer step. A figure that is infinite is None."""

    item: int
    fit: str
    step: int
    loss: float | None
    rate: float | None
    grad_norm: float | None
    tokens: int
    memory: int | None


@dataclass(frozen=True, slots=True)
class RewardStep:
    """The rewards from which an optimizer step learnt."""

    fit: str
    step: int
    rollouts: str  #: the job whose episodes they are
    episodes: int
    reward: float
    baseline: float
    feasible: float | None
    entropy: float
    kl: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """A model or an adapter that the job has written."""

    name: str
    kind: str
    digest: str
    bytes: int
    base: str
    builds: Sequence[str]
    path: str


@dataclass(frozen=True, slots=True)
class TrainingFigures:
    """The part of a training job's report that other jobs do not have. What it has not written yet is None."""

    windows: Sequence[TrainingPart]
    fits: Sequence[FitFigures] | None = field(metadata=OPTIONAL)
    training_steps: Sequence[LossStep] | None = field(metadata=OPTIONAL)
    feedback_steps: Sequence[RewardStep] | None = field(metadata=OPTIONAL)
    models: Sequence[WrittenModel] | None = field(metadata=OPTIONAL)


def collect_training_figures(connection: Connection, job: str) -> TrainingFigures:
    """Return the figures of a training job."""
    windows = [TrainingPart(ordinal, output or {}) for ordinal, output in outputs(connection, job)]
    dev_losses = {window.fit: window.dev_loss for window in windows if window.dev_loss is not None}
    fits = [FitFigures(**fit, dev_loss=dev_losses.get(fit["fit"])) for fit in summarize_fits(connection, job)]
    models = [
        WrittenModel(row.name, row.kind, row.digest, row.bytes, row.base, row.builds, row.path)
        for row in list_models(connection)
        if row.job == job
    ]
    return TrainingFigures(
        windows,
        fits or None,
        [LossStep(**step) for step in list_steps(connection, job)] if fits else None,
        [RewardStep(**step) for step in list_feedback(connection, job)] or None,
        models or None,
    )
