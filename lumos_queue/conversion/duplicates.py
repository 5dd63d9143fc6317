"""Find rows whose task occurred earlier in the same dataset."""

from __future__ import annotations

from collections.abc import Iterable

from lumos_queue.records import Task


def find_duplicates(tasks: Iterable[Task]) -> tuple[int, ...]:
    """Return the positions, from 0, of tasks that repeat the text of an earlier task. White space does not count."""
    known_texts: set[str] = set()
    duplicates = []
    for position, task in enumerate(tasks):
        text = " ".join(task.question.split())
        if text in known_texts:
            duplicates.append(position)
        known_texts.add(text)
    return tuple(duplicates)
