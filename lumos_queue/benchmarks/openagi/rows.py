"""A task of OpenAGI as a row, wherever its data come from.

`inputs["channels"]`: for each input its `name`, its `kind` ('image' or 'text') and its `values`, a text or the sha256
of a picture for each sample; samples are parallel over channels. `gold["references"]`: what is right, a value a sample;
none where a picture from text is judged without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.benchmarks.openagi.tasks import TaskSpec
from lumos_queue.records import Task

NAME = "openagi"


def make_task(
    spec: TaskSpec,
    values: Sequence[Sequence[str]],
    references: Sequence[str],
    captions: Sequence[str],
    origin: Mapping[str, Any],
    augmentations: Mapping[str, Any],
) -> Task:
    """The task with these values, a list for each channel. `origin`: further inputs, not shown to models."""
    channels = [
        {"name": one.slot.name, "kind": str(one.slot.kind), "values": list(held)}
        for one, held in zip(spec.channels, values, strict=True)
    ]
    inputs = {"channels": channels, "output": str(spec.wanted.output), **origin}
    gold = {
        "plan": spec.plan.write(),
        "metric": spec.wanted.metric,
        "category": spec.category,
        "difficulty": spec.difficulty,
        "difficulty_derived": spec.difficulty_derived,
        "linear": spec.linear,
        "references": list(references),
        "captions": list(captions),
        "augmentations": dict(augmentations),
    }
    return Task(NAME, "", str(spec.id), spec.description, inputs, gold)
