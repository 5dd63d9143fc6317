"""Draw sample sets: several sets of equally many tasks, as in the paper's evaluation of QA (300 × 3, 1,000 × 3).

The paper's own sets are not published. These sets depend only on the rows' names: set k (0, 1, 2, …) has the tasks with
the smallest sha256 of `set k`, a NUL and the row. So the order of the file and the version of Python do not matter, a
smaller set is part of a larger set with the same k, and anyone with the rows draws the same sets.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from lumos_queue.errors import SpecError
from lumos_queue.records import Task


def sample_sets(tasks: Sequence[Task], size: int, sets: int) -> tuple[Task, ...]:
    """Return the tasks that are in at least one of `sets` sets of `size` tasks, in the order of `tasks`.

    `inputs["sets"]` of a task has the numbers of its sets; it may be in several. Raises SpecError if there are fewer
    than `size` tasks.
    """
    if size < 1 or sets < 1:
        raise SpecError(f"Cannot draw {sets} sets of {size} rows: both numbers must be at least 1.")
    if size > len(tasks):
        raise SpecError(f"Cannot draw sets of {size:,} rows: there are only {len(tasks):,}. Draw fewer.")
    set_tasks: dict[str, list[int]] = defaultdict(list)
    for number in range(sets):
        for row in sorted((task.row for task in tasks), key=lambda row: _order_key(number, row))[:size]:
            set_tasks[row].append(number)
    return tuple(
        replace(task, inputs={**task.inputs, "sets": set_tasks[task.row]}) for task in tasks if task.row in set_tasks
    )


def _order_key(number: int, row: str) -> bytes:
    return hashlib.sha256(f"set {number}\0{row}".encode()).digest()
