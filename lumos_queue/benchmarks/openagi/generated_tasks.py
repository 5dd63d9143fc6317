"""Tasks with generated data: which source stands for which of the paper's, and what each channel holds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from lumos_queue.benchmarks.openagi.data.augmentations import manifest
from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.benchmarks.openagi.rows import make_task
from lumos_queue.benchmarks.openagi.tasks import TaskSpec
from lumos_queue.experts.base import Kind
from lumos_queue.records import Task

DATA_SPLIT = "test"  #: of the data: experts are trained on 'train', and chosen on 'dev'
SOURCE_OF = {
    "ImageNet-1K val": "labels",
    "COCO captions val2017": "captions",
    "COCO instances val2017": "objects",
    "CNN/DailyMail test": "documents",
    "SST-2 val": "sentiments",
    "TextVQA val": "signs",
    "SQuAD val": "passages",
}


def generate_task(spec: TaskSpec, samples: int, profile: str, artifacts: dict[str, bytes]) -> Task:
    """The task with its first samples; `artifacts` gets the pictures that it names, by sha256."""
    source, numbers = SOURCE_OF[spec.wanted.source], range(samples)

    def keep(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        artifacts[digest] = data
        return digest

    def fill(channel: str, kind: Kind, augmentations: tuple[str, ...] = ()) -> list[str]:
        found = [load_input(source, DATA_SPLIT, number, channel, augmentations, profile) for number in numbers]
        return [keep(one) if kind is Kind.IMAGE else one.decode() for one in found]

    values = [fill(one.slot.name, one.slot.kind, one.augmentations) for one in spec.channels]
    targets = [load_sample(source, DATA_SPLIT, number).target for number in numbers]
    references = (
        fill("image", Kind.IMAGE)
        if spec.wanted.output is Kind.IMAGE
        else [getattr(one, spec.language) for one in targets]
    )
    captions = [one.en for one in targets] if spec.wanted.metric == "clip" else []
    origin = {"sources": _describe_sources(spec, source, numbers, profile)}
    return make_task(spec, values, references, captions, origin, manifest(profile))


def _describe_sources(spec: TaskSpec, source: str, numbers: Sequence[int], profile: str) -> list[dict[str, Any]]:
    """Where the values of each channel come from, so that `oracle:` can find their clean originals."""
    return [
        {
            "channel": one.slot.name,
            "source": source,
            "split": DATA_SPLIT,
            "samples": list(numbers),
            "augmentations": list(one.augmentations),
            "profile": profile,
        }
        for one in spec.channels
    ]
