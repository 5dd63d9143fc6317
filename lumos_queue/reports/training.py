"""Collect the figures of a training job's report: the parts in which it trained, optimizer steps and models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from db.engine.connection import Connection
from db.queries.results import outputs
from db.queries.training_progress import read_progress
from db.queue.training_steps import list_feedback, list_models, list_steps, summarize_fits
from lumos_queue.reports.fit_curve import DevLoss, FitCurve, average_steps, find_best, part_size, read_dev_losses
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
        """The mean loss of the part's steps. None: it has no steps, or it is an expert, whose figures are `counts`."""
        return self.output.get("loss") if "step" in self.output else None

    @property
    def dev_loss(self) -> float | None:
        return self.output.get("dev_loss")

    @property
    def dev_losses(self) -> list[DevLoss]:
        return read_dev_losses(self.output)

    @property
    def stopped_early(self) -> bool:
        """Whether the part has no steps because the fit has ended early."""
        return bool(self.output.get("stopped_early"))

    @property
    def kept(self) -> Mapping[str, Any] | None:
        """What an export has chosen: `keep` (best or last), `step` and `dev_loss`; None for other parts."""
        return self.output.get("kept")

    @property
    def estimate(self) -> Mapping[str, Any] | None:
        """The estimate of memory before the first step; None without it."""
        return self.output.get("estimate")

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
        if counts := self.output.get("counts"):
            return counts
        return (
            {}
            if self.stopped_early
            else {name: field_value for name, field_value in self.output.items() if name != "kept"}
        )


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
class Restart:
    """Another process has continued a fit."""

    fit: str
    step: int  #: after which it continued
    lost_steps: int  #: reported steps after it, which were repeated
    at: float  #: by the database's clock


@dataclass(frozen=True, slots=True)
class TrainingFigures:
    """The part of a training job's report that other jobs do not have. What it has not written yet is None."""

    windows: Sequence[TrainingPart]
    fits: Sequence[FitFigures] | None = field(metadata=OPTIONAL)
    training_steps: Sequence[LossStep] | None = field(metadata=OPTIONAL)
    feedback_steps: Sequence[RewardStep] | None = field(metadata=OPTIONAL)
    models: Sequence[WrittenModel] | None = field(metadata=OPTIONAL)
    restarts: Sequence[Restart] | None = field(default=None, metadata=OPTIONAL)

    def list_curves(self) -> list[FitCurve]:
        """Return the curves of losses and of rewards, each for all fits in the order of their first steps."""
        losses = [(step.fit, step.step, step.loss) for step in self.training_steps or ()]
        rewards = [(step.fit, step.step, step.reward) for step in self.feedback_steps or ()]
        return [*self._list_curves("loss", losses), *self._list_curves("reward", rewards)]

    def _list_curves(self, quantity: str, steps: Sequence[tuple[str, int, float | None]]) -> Iterator[FitCurve]:
        """Yield a curve for each fit of `steps`: (fit, step, value)."""
        for fit in dict.fromkeys(fit for fit, *_ in steps):
            values = [(step, figure) for name, step, figure in steps if name == fit]
            ends = {step.item: step.step for step in self.training_steps or () if step.fit == fit}
            windows = [window for window in self.windows if window.fit == fit and quantity == "loss"]
            dev_losses = [evaluation for window in windows for evaluation in window.dev_losses]
            yield FitCurve(
                fit,
                quantity,
                list(average_steps(values, part_size(len(values)))),
                dev_losses,
                find_best(dev_losses),
                sorted(ends.values()),
                [restart.step for restart in self.restarts or () if restart.fit == fit],
            )


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
    restarts = [
        Restart(fit.progress.fit, restart.step, restart.lost_steps, restart.at)
        for fit in read_progress(connection, job)
        for restart in fit.restarts
    ]
    return TrainingFigures(
        windows,
        fits or None,
        [LossStep(**step) for step in list_steps(connection, job)] if fits else None,
        [RewardStep(**step) for step in list_feedback(connection, job)] or None,
        models or None,
        restarts or None,
    )
