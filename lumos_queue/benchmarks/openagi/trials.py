"""Trials of experts on samples of a split, in comparison with a baseline that is no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.scoring.media.chrf import chrf
from lumos_queue.scoring.media.pixels import psnr, ssim


@dataclass(frozen=True, slots=True)
class Trial:
    """The samples on which an expert is measured, and the measure that compares its outputs with the targets."""

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


def read_samples(trial: Trial, profile: str, split: str, n: int) -> tuple[list[list[bytes]], list[bytes], list[bytes]]:
    """Return the inputs by slot, the target outputs, and the outputs of the baseline.

    The baseline returns the input unchanged, the commonest answer of the training split, or its first picture.
    """
    augmentations = (trial.augmentation,) if trial.augmentation else ()
    inputs = [
        [load_input(trial.source, split, number, channel, augmentations, profile) for number in range(n)]
        for channel in trial.channels
    ]
    if trial.measure == "SSIM":
        outputs = [load_input(trial.source, split, number, "image") for number in range(n)]
        return inputs, outputs, [load_input(trial.source, "train", 0, "image")] * n
    if trial.augmentation:
        return inputs, [load_input(trial.source, split, number, trial.channels[0]) for number in range(n)], inputs[0]
    targets = [load_sample(trial.source, split, number).target for number in range(n)]
    outputs = [(target.de if trial.german else target.en).encode() for target in targets]
    if trial.measure == "chrF" and trial.source == "documents":
        return inputs, outputs, inputs[0]
    if trial.german:
        return inputs, outputs, inputs[0]
    common = Counter(load_sample(trial.source, "train", number).target.en for number in range(500)).most_common(1)
    return inputs, outputs, [common[0][0].encode()] * n


def score_of(trial: Trial) -> Callable[[bytes, bytes], float]:
    measures: dict[str, Callable[[bytes, bytes], float]] = {
        "dB": lambda output, aim: min(60.0, psnr(output, aim)),
        "SSIM": ssim,
        "right": lambda output, aim: float(output == aim),
        "chrF": lambda output, aim: chrf(output.decode(), aim.decode()),
    }
    return measures[trial.measure]
