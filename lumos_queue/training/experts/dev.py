"""Measure an expert on the dev split, with the same code and input bytes as when a plan uses the expert."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from lumos_queue.benchmarks.openagi.trials import TRIALS, read_samples, score_of
from lumos_queue.experts.backends.base import Model
from lumos_queue.experts.backends.own.config import MODELS
from lumos_queue.experts.problems import SampleError
from lumos_queue.util.model_loading import import_libraries

SPLIT, SAMPLES = "dev", 60


@dataclass(frozen=True, slots=True)
class DevFigure:
    """The mean scores of a baseline (`nothing`) and of the expert, over the same samples."""

    profile: str  #: '' where pictures are not changed
    measure: str  #: 'dB', 'right', 'chrF' or 'SSIM'
    nothing: float  #: score of the unchanged input, or of the most common answer
    expert: float  #: score of the expert
    n: int = SAMPLES

    def __str__(self) -> str:
        profile = f", {self.profile}" if self.profile else ""
        return f"{self.nothing:.3f} → {self.expert:.3f} {self.measure}{profile}"


def measure_dev(expert: str, folder: Path, profiles: Sequence[str]) -> list[DevFigure]:
    """Return a figure for each profile if the expert restores pictures, otherwise one figure."""
    module, _, name = MODELS[expert].partition(":")
    with import_libraries(module):
        model_class = getattr(import_module(module), name)
    model: Model = model_class(str(folder))
    restores = TRIALS[expert].measure == "dB"
    return [_measure(expert, model, profile, restores) for profile in (profiles if restores else profiles[:1])]


def _measure(expert: str, model: Model, profile: str, restores: bool) -> DevFigure:
    """Measure one profile. If the expert cannot process a sample, an unchanged picture counts, or the score is 0."""
    trial = TRIALS[expert]
    inputs, targets, baseline_outputs = read_samples(trial, profile, SPLIT, SAMPLES)
    score = score_of(trial)
    base = [score(output, aim) for output, aim in zip(baseline_outputs, targets, strict=True)]
    scores = []
    for sample, aim, floor in zip(zip(*inputs, strict=True), targets, base, strict=True):
        try:
            scores.append(score(model.run(*sample), aim))
        except SampleError:
            scores.append(floor if restores else 0.0)
    return DevFigure(
        profile if restores else "",
        trial.measure,
        round(sum(base) / SAMPLES, 4),
        round(sum(scores) / SAMPLES, 4),
    )
