"""One expert on held-out samples against doing nothing, or against always giving the commonest answer."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import Problem
from lumos_queue.scoring.media.chrf import chrf
from lumos_queue.scoring.media.pixels import psnr, ssim

_Z = 1.96
SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Trial:
    """What an expert is tried on: where its inputs come from, and how near its output is to what is wanted."""

    source: str
    channels: tuple[str, ...]
    measure: str  #: 'dB', 'right', 'chrF', 'SSIM'
    augmentation: str = ""
    german: bool = False


TRIALS = {
    "Sentiment Analysis": Trial("sentiments", ("text",), "right"),
    "Text Summarization": Trial("documents", ("text",), "chrF"),
    "Machine Translation": Trial("captions", ("text",), "right", german=True),
    "Fill Mask": Trial("captions", ("text",), "right", "clozed"),
    "Question Answering": Trial("passages", ("document", "question"), "right"),
    "Image Classification": Trial("labels", ("image",), "right"),
    "Object Detection": Trial("objects", ("image",), "right"),
    "Colorization": Trial("captions", ("image",), "dB", "grayscale"),
    "Image Super Resolution": Trial("captions", ("image",), "dB", "low-resolutioned"),
    "Image Denoising": Trial("captions", ("image",), "dB", "noisy"),
    "Image Deblurring": Trial("captions", ("image",), "dB", "blurry"),
    "Visual Question Answering": Trial("signs", ("image", "question"), "right"),
    "Image Captioning": Trial("captions", ("image",), "chrF"),
    "Text to Image Generation": Trial("captions", ("text",), "SSIM"),
}


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
    """A sample that has a problem scores as doing nothing does where pictures are restored, and else 0."""
    trial = TRIALS[facts.expert]
    inputs, wanted, nothing = read_samples(trial, profile, n)
    await host.run(facts, [one[:1] for one in inputs])  # loads it
    begin = time.perf_counter()
    results = await host.run(facts, inputs)
    seconds = time.perf_counter() - begin
    score = score_of(trial)
    base = [score(one, aim) for one, aim in zip(nothing, wanted, strict=True)]
    made = [
        (floor if trial.measure == "dB" else 0.0) if isinstance(one, Problem) else score(one, aim)
        for one, aim, floor in zip(results, wanted, base, strict=True)
    ]
    gain, half = mean_and_half([one - floor for one, floor in zip(made, base, strict=True)])
    problems = sum(isinstance(one, Problem) for one in results)
    return Row(
        facts.expert, facts.url, trial.measure, sum(base) / n, sum(made) / n, gain, half, problems, n,
        1000 * seconds / n, facts.licence, facts.note,
    )  # fmt: skip


def read_samples(trial: Trial, profile: str, n: int) -> tuple[list[list[bytes]], list[bytes], list[bytes]]:
    """Inputs by slot, what is wanted, and what doing nothing (or the commonest answer of training) gives."""
    changed = (trial.augmentation,) if trial.augmentation else ()
    inputs = [
        [load_input(trial.source, SPLIT, number, channel, changed, profile) for number in range(n)]
        for channel in trial.channels
    ]
    if trial.measure == "SSIM":
        wanted = [load_input(trial.source, SPLIT, number, "image") for number in range(n)]
        return inputs, wanted, [load_input(trial.source, "train", 0, "image")] * n
    if trial.augmentation:
        return inputs, [load_input(trial.source, SPLIT, number, trial.channels[0]) for number in range(n)], inputs[0]
    targets = [load_sample(trial.source, SPLIT, number).target for number in range(n)]
    wanted = [(one.de if trial.german else one.en).encode() for one in targets]
    if trial.measure == "chrF" and trial.source == "documents":
        return inputs, wanted, inputs[0]
    if trial.german:
        return inputs, wanted, inputs[0]
    common = Counter(load_sample(trial.source, "train", number).target.en for number in range(500)).most_common(1)
    return inputs, wanted, [common[0][0].encode()] * n


def score_of(trial: Trial) -> Callable[[bytes, bytes], float]:
    measures: dict[str, Callable[[bytes, bytes], float]] = {
        "dB": lambda one, aim: min(60.0, psnr(one, aim)),
        "SSIM": ssim,
        "right": lambda one, aim: float(one == aim),
        "chrF": lambda one, aim: chrf(one.decode(), aim.decode()),
    }
    return measures[trial.measure]


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its 95 % interval (normal, with the sample's standard deviation)."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((one - mean) ** 2 for one in values) / max(1, len(values) - 1))
    return mean, _Z * spread / math.sqrt(len(values))
