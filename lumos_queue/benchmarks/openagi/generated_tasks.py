"""Tasks with generated data. Each generated source replaces a data set of the paper."""

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

DATA_SPLIT = "test"  #: the split of the data; experts are trained on 'train' and selected on 'dev'
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
    """Return the task with its first `samples` samples. Its pictures are added to `artifacts`, by sha256."""
    source, numbers = SOURCE_OF[spec.goal.source], range(samples)

    def keep(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        artifacts[digest] = data
        return digest

    def fill(channel: str, kind: Kind, augmentations: tuple[str, ...] = ()) -> list[str]:
        samples_bytes = [load_input(source, DATA_SPLIT, number, channel, augmentations, profile) for number in numbers]
        return [keep(content) if kind is Kind.IMAGE else content.decode() for content in samples_bytes]

    values = [fill(channel.slot.name, channel.slot.kind, channel.augmentations) for channel in spec.channels]
    targets = [load_sample(source, DATA_SPLIT, number).target for number in numbers]
    references = (
        fill("image", Kind.IMAGE)
        if spec.goal.output is Kind.IMAGE
        else [getattr(target, spec.language) for target in targets]
    )
    captions = [target.en for target in targets] if spec.goal.metric == "clip" else []
    origin = {"sources": _describe_sources(spec, source, numbers, profile)}
    return make_task(spec, values, references, captions, origin, manifest(profile))


def _describe_sources(spec: TaskSpec, source: str, numbers: Sequence[int], profile: str) -> list[dict[str, Any]]:
    """Return the origin of each channel's values, by which experts of `oracle:` find the clean originals."""
    return [
        {
            "channel": channel.slot.name,
            "source": source,
            "split": DATA_SPLIT,
            "samples": list(numbers),
            "augmentations": list(channel.augmentations),
            "profile": profile,
        }
        for channel in spec.channels
    ]
