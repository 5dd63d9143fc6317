"""Plans without a model: from the words of a description by rule, and from the labelled task with the nearest words."""

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
    """A plan from the words of a description alone. It is the gold plan of all 185 tasks: so easy are they."""
    given, _, asked = description.partition(", how to ")
    branches = [tuple(name for word, name in _UNDO.items() if word in part.split()) for part in given.split(" and ")]
    head = [name for word, name in _MAKE.items() if word in asked.split()]
    if "answer" in asked:
        head.append("Visual Question Answering" if "image" in given else "Question Answering")
    tail = (*head, *(("Machine Translation",) if "German" in asked else ()))
    return Plan(tuple(branches), tail) if len(branches) > 1 else Plan((), (*branches[0], *tail))


def plan_of_nearest(description: str, demonstrations: Sequence[TaskSpec] | None = None) -> Plan:
    """The gold plan of the labelled task with most words in common, each as often as it is there (Jaccard).

    A task is no demonstration of itself; of several that are as near, the first counts.
    """
    known = tasks_of(LABELLED) if demonstrations is None else demonstrations
    others = [one for one in known if one.description != description]
    return max(others, key=lambda one: _nearness(description, one.description)).plan


def _nearness(one: str, other: str) -> float:
    first, second = Counter(one.split()), Counter(other.split())
    return (first & second).total() / (first | second).total()
