"""Our split of the tasks: 20 with their gold plan as demonstrations, 110 for feedback alone, 55 held out.

The paper's ids were never published, and those in its code overlap. The ids are in splits.json; `draw_splits` makes
them again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.resources import files
from random import Random

from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec

_HERE = "lumos_queue.benchmarks.openagi"
SEED = 15
#: Tasks of each category that are labelled (a tenth, as in the paper, at least one) and held out; the others: feedback.
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
    """The tasks of a split in their order. Raises KeyError for an unknown one."""
    if split == ALL:
        return TASKS
    return tuple(TASKS[one] for one in json.loads((files(_HERE) / "splits.json").read_text())[split])


def draw_splits(tasks: Sequence[TaskSpec] = TASKS, seed: int = SEED) -> Mapping[str, list[int]]:
    """Ids by split, drawn at random within each category."""
    found: dict[str, list[int]] = {LABELLED: [], FEEDBACK: [], HELDOUT: []}
    by_category = defaultdict(list)
    for task in tasks:
        by_category[task.category].append(task.id)
    for category, ids in by_category.items():
        Random(f"openagi {seed} {category}").shuffle(ids)
        labelled, heldout = _SHARES[category]
        found[LABELLED] += ids[:labelled]
        found[HELDOUT] += ids[labelled : labelled + heldout]
        found[FEEDBACK] += ids[labelled + heldout :]
    return {name: sorted(ids) for name, ids in found.items()}
