"""Make plans without a model: from the words of a description, or from the labelled task with the nearest words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lumos_queue.benchmarks.openagi.splits import LABELLED, tasks_of
from lumos_queue.benchmarks.openagi.tasks import TaskSpec
from lumos_queue.experts.plans import Plan

#: Word → expert, in the order of a gold plan.
_UNDO = {
    "low-resolutioned": "Image Super Resolution",
    "noisy": "Image Denoising",
    "blurry": "Image Deblurring",
    "grayscale": "Colorization",
    "clozed": "Fill Mask",
}
_MAKE = {
    "caption": "Image Captioning",
    "class": "Image Classification",
    "object": "Object Detection",
    "generate": "Text to Image Generation",
    "summarization": "Text Summarization",
    "sentiment": "Sentiment Analysis",
}


def plan_by_keywords(description: str) -> Plan:
    """Return a plan made from the words of a description alone. For each of the 185 tasks, it is the gold plan."""
    inputs, _, goal = description.partition(", how to ")
    branches = [tuple(name for word, name in _UNDO.items() if word in part.split()) for part in inputs.split(" and ")]
    head = [name for word, name in _MAKE.items() if word in goal.split()]
    if "answer" in goal:
        head.append("Visual Question Answering" if "image" in inputs else "Question Answering")
    tail = (*head, *(("Machine Translation",) if "German" in goal else ()))
    return Plan(tuple(branches), tail) if len(branches) > 1 else Plan((), (*branches[0], *tail))


def plan_of_nearest(description: str, demonstrations: Sequence[TaskSpec] | None = None) -> Plan:
    """Return the gold plan of the labelled task whose words are nearest (Jaccard index of multisets).

    A task with the same description is not used. Of several tasks that are equally near, the first is used.
    """
    labelled_tasks = tasks_of(LABELLED) if demonstrations is None else demonstrations
    candidates = [task for task in labelled_tasks if task.description != description]
    return max(candidates, key=lambda task: _nearness(description, task.description)).plan


def _nearness(left: str, right: str) -> float:
    first, second = Counter(left.split()), Counter(right.split())
    return (first & second).total() / (first | second).total()
