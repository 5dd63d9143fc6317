"""Make the row of an OpenAGI task, from generated data or from data of the released layout.

`inputs["channels"]` has for each input its `name`, its `kind` ('image' or 'text') and its `values`: for each sample a
text, or the sha256 of a picture. Sample k consists of the k-th value of each channel. `gold["references"]` has the
right value of each sample; it is empty if a task makes pictures from text, which are judged without a reference.
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
    """Return the task. `values` has a list for each channel; `origin`: further inputs, which models do not see."""
    channels = [
        {"name": channel.slot.name, "kind": str(channel.slot.kind), "values": list(channel_values)}
        for channel, channel_values in zip(spec.channels, values, strict=True)
    ]
    inputs = {"channels": channels, "output": str(spec.goal.output), **origin}
    gold = {
        "plan": spec.plan.write(),
        "metric": spec.goal.metric,
        "category": spec.category,
        "difficulty": spec.difficulty,
        "difficulty_derived": spec.difficulty_derived,
        "linear": spec.linear,
        "references": list(references),
        "captions": list(captions),
        "augmentations": dict(augmentations),
    }
    return Task(NAME, "", str(spec.id), spec.description, inputs, gold)
