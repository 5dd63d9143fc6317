"""This project's split of the tasks: 20 are demonstrations with gold plans, 110 are for feedback, 55 are held out.

The paper never published the ids of its splits, and the ids in its code overlap. splits.json has the ids of this split;
`sample_splits` computes the same ids.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from random import Random

from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec

_PACKAGE = "lumos_queue.benchmarks.openagi"
SEED = 15
#: Number of labelled tasks (a tenth, as in the paper, at least one) and of held-out tasks; the rest is for feedback.
_SHARES = {
    "image-image": (2, 4),
    "image-text": (9, 27),
    "text-image": (1, 1),
    "text-text": (1, 3),
    "image+text-text": (6, 18),
    "text+text-text": (1, 2),
}
LABELLED, FEEDBACK, HELDOUT, ALL = "labelled", "feedback", "heldout", "all"
SPLITS = (LABELLED, FEEDBACK, HELDOUT, ALL)


def tasks_of(split: str) -> tuple[TaskSpec, ...]:
    """Return the tasks of a split in their order. Raises KeyError for an unknown split."""
    if split == ALL:
        return TASKS
    return tuple(TASKS[task_id] for task_id in json.loads((files(_PACKAGE) / "splits.json").read_text())[split])


def sample_splits(tasks: Sequence[TaskSpec] = TASKS, seed: int = SEED) -> Mapping[str, list[int]]:
    """Return the ids of each split, sampled at random within each category."""
    splits: dict[str, list[int]] = {LABELLED: [], FEEDBACK: [], HELDOUT: []}
    by_category = defaultdict(list)
    for task in tasks:
        by_category[task.category].append(task.id)
    for category, ids in by_category.items():
        Random(f"openagi {seed} {category}").shuffle(ids)
        labelled_count, heldout_count = _SHARES[category]
        splits[LABELLED] += ids[:labelled_count]
        splits[HELDOUT] += ids[labelled_count : labelled_count + heldout_count]
        splits[FEEDBACK] += ids[labelled_count + heldout_count :]
    return {name: sorted(ids) for name, ids in splits.items()}
