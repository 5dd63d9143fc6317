"""One expert on held-out samples against doing nothing, or against always giving the commonest answer."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.benchmarks.openagi.trials import TRIALS, read_samples, score_of
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import Problem

_Z = 1.96
SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Row:
    expert: str
    url: str
    measure: str
    nothing: float  #: the mean of doing nothing, or of the commonest answer
    mean: float
    gain: float  #: the mean of the differences, sample by sample
    half: float  #: half of its 95 % interval
    problems: int
    n: int
    milliseconds: float  #: for a sample, by the wall clock, once loaded
    licence: str
    note: str


async def measure_expert(host: ExpertHost, facts: BackendFacts, profile: str, n: int) -> Row:
    """Measure one expert.

    A sample with a problem gets the score of the unchanged picture in dB, or 0 of another measure.
    """
    trial = TRIALS[facts.expert]
    inputs, targets, baselines = read_samples(trial, profile, SPLIT, n)
    await host.run(facts, [column[:1] for column in inputs])  # loads it
    begin = time.perf_counter()
    results = await host.run(facts, inputs)
    seconds = time.perf_counter() - begin
    score = score_of(trial)
    base = [score(output, aim) for output, aim in zip(baselines, targets, strict=True)]
    scores = [
        (floor if trial.measure == "dB" else 0.0) if isinstance(output, Problem) else score(output, aim)
        for output, aim, floor in zip(results, targets, base, strict=True)
    ]
    gain, half = mean_and_half([sample_score - floor for sample_score, floor in zip(scores, base, strict=True)])
    problems = sum(isinstance(output, Problem) for output in results)
    return Row(
        facts.expert,
        facts.url,
        trial.measure,
        sum(base) / n,
        sum(scores) / n,
        gain,
        half,
        problems,
        n,
        1000 * seconds / n,
        facts.licence,
        facts.note,
    )


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (normal, with the sample's standard deviation)."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((number - mean) ** 2 for number in values) / max(1, len(values) - 1))
    return mean, _Z * spread / math.sqrt(len(values))
