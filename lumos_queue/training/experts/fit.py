"""The fit of one expert: its optimizer steps, and the weights with the best score on dev.

The same seed gives the same weights on any number of cores. The batch of a step depends only on (seed, step). A fit
continues after any step from its network, the state of its optimizer, torch's random state, its steps and its best
weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lumos_queue.errors import DivergedFit, FitInterrupted
from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine.checkpoint_clock import CheckpointClock
from lumos_queue.training.engine.progress import Reporter
from lumos_queue.training.engine.resident_memory import peak_resident_bytes
from lumos_queue.training.experts.dev import DevFigure
from lumos_queue.training.experts.lesson import Lesson

_WARM_UP = 0.05  #: the part of the steps in which the rate grows
_CHECKS = (0.7, 0.85)  #: after these parts of the steps, and at the end, weights are measured
_FEW = 20  #: a lesson of at most so many steps is measured only at its end


@dataclass(frozen=True, slots=True)
class BestWeights:
    """The weights with the best score so far, the latest if several are equal."""

    score: float  #: mean of the expert's figures
    step: int
    weights: bytes  #: a file of safetensors
    figures: list[DevFigure]


class ExpertFit:
    """A fit with its state. `steps_done` lists the measurements of each optimizer step, also of earlier processes."""

    def __init__(self, expert: str, lesson: Lesson, steps: int, seed: int):
        """`steps`: of the whole fit."""
        torch.set_num_threads(1)
        self.network, self.steps = lesson.network, steps
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=lesson.rate, betas=(0.9, 0.98), weight_decay=1e-4
        )
        self.steps_done: list[TrainingStep] = []
        self.best: BestWeights | None = None
        self._expert, self._lesson, self._seed = expert, lesson, seed
        self._checks = {int(part * steps) for part in _CHECKS if steps > _FEW} | {steps}

    @property
    def step(self) -> int:
        """The number of optimizer steps that are done."""
        return len(self.steps_done)

    @property
    def loss(self) -> float:
        """The mean loss of the last tenth of the steps."""
        last = [step.loss for step in self.steps_done[-max(1, self.steps // 10) :]]
        return sum(last) / len(last)

    def is_measured(self) -> bool:
        """Return whether the weights are measured after the latest step."""
        return self.step in self._checks

    def do_step(self) -> TrainingStep:
        """Do an optimizer step (AdamW). Raises DivergedFit when the loss or the gradient is not a number."""
        rate = self._lesson.rate * _factor(self.step, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._lesson.loss(np.random.default_rng((self._seed, self.step)))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), 1.0).item()
        if not (math.isfinite(loss.item()) and math.isfinite(norm)):
            raise DivergedFit(f"step {self.step + 1}: the loss is {loss.item()}, its gradient's norm {norm}")
        self.optimizer.step()
        step = TrainingStep(self._expert, self.step + 1, loss.item(), rate, norm, 0, peak_resident_bytes())
        self.steps_done.append(step)
        return step

    def note_score(self, weights: bytes, figures: list[DevFigure]) -> None:
        """Note the figures on dev of the present weights, which `weights` holds as a file of safetensors."""
        score = sum(figure.expert for figure in figures) / len(figures)
        if self.best is None or score >= self.best.score:
            self.best = BestWeights(score, self.step, weights, figures)


def complete_fit(
    fit: ExpertFit, measure: Callable[[], None], save: Callable[[], None], clock: CheckpointClock, reporter: Reporter
) -> None:
    """Do the steps that are left, and report them. `measure` and `save` measure and save the fit after a step.

    A checkpoint is that of a fit before its weights are measured. Raises DivergedFit as `do_step` does, and
    FitInterrupted when a stop was requested; then the newest checkpoint is that of the last step.
    """
    clock.start()
    reporter.update(FitPhase.TRAINING, checkpoint_seconds=clock.interval)
    while True:
        if fit.is_measured():
            reporter.update(FitPhase.EVALUATING)
            measure()
            reporter.update(FitPhase.TRAINING)
        if fit.step == fit.steps:
            return
        reporter.report_step(fit.do_step())
        is_stopping = reporter.is_stop_requested()
        if is_stopping or clock.is_due():
            reporter.update(FitPhase.SAVING)
            clock.begin_checkpoint()
            save()
            clock.end_checkpoint()
            reporter.update(FitPhase.TRAINING, checkpoint_step=fit.step, checkpoint_seconds=clock.interval)
        if is_stopping:
            raise FitInterrupted(f"stopped after step {fit.step}, with a checkpoint")


def _factor(step: int, steps: int) -> float:
    """Return the factor of the largest rate: a linear warm-up, then half a cosine down to 0."""
    warm = max(1.0, _WARM_UP * steps)
    return min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * step / steps))
