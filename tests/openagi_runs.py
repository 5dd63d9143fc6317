"""The expert runs of the gold plans of OpenAGI: from the plans alone, and with experts that restore exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.benchmarks.openagi.generated_tasks import DATA_SPLIT, SOURCE_OF
from lumos_queue.benchmarks.openagi.tasks import TASKS, UNDOES, TaskSpec
from lumos_queue.experts.graph import ready_sets

Run = tuple[Any, ...]
_UNDONE = {expert: augmentation for augmentation, expert in UNDOES.items()}


def runs_by_history(tasks: Sequence[TaskSpec] = TASKS) -> list[Run]:
    """Each run of a model for one sample: expert, source, and what its inputs went through since the clean original."""
    runs: list[Run] = []
    for task in tasks:
        outputs: dict[str, Run] = {
            channel.slot.name: (channel.slot.name, channel.augmentations) for channel in task.channels
        }
        for node in _nodes(task):
            outputs[node.variable] = (node.expert, task.goal.source, *(outputs[name] for name in node.inputs))
            runs.append(outputs[node.variable])
    return runs


def runs_by_bytes(number: int, tasks: Sequence[TaskSpec] = TASKS) -> list[tuple[str, tuple[bytes, ...]]]:
    """The same for the sample with that number: expert, and the bytes that it is given.

    Experts are exact: restoration takes away its augmentation alone, and a model gives the right answer.
    """
    runs = []
    for task in tasks:
        source = SOURCE_OF[task.goal.source]
        remaining = {channel_spec.slot.name: channel_spec.augmentations for channel_spec in task.channels}
        values = {name: _load(source, number, name, names) for name, names in remaining.items()}
        origin = {name: name for name in remaining}
        for node in _nodes(task):
            inputs = tuple(values[name] for name in node.inputs)
            runs.append((node.expert, inputs))
            channel = origin[node.variable] = origin[node.inputs[0]]
            if node.expert in _UNDONE:
                remaining[channel] = tuple(
                    augmentation for augmentation in remaining[channel] if augmentation != _UNDONE[node.expert]
                )
                values[node.variable] = _load(source, number, channel, remaining[channel])
            else:
                values[node.variable] = _answer(source, number, node.expert)
    return runs


def _answer(source: str, number: int, expert: str) -> bytes:
    target = load_sample(source, DATA_SPLIT, number).target
    if expert == "Text to Image Generation":
        return _load(source, number, "image", ())
    return (target.de if expert == "Machine Translation" else target.en).encode()


def _load(source: str, number: int, channel: str, augmentations: tuple[str, ...]) -> bytes:
    return load_input(source, DATA_SPLIT, number, channel, augmentations)


def _nodes(task: TaskSpec) -> Iterator[Any]:
    return (node for level in ready_sets(task.plan, task.signature) for node in level)
