"""Find the tasks that a text describes, such as a prompt with solved tasks or a conversation of training data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lumos_queue.benchmarks.openagi.tasks import TASKS

_NO_LETTERS = re.compile(r"[^a-z]+")
_START, _END = "given ", " step by step"
_MAX_LENGTH = 400  #: characters of a description


def find_described_tasks(text: str) -> set[str]:
    """Return the rows of the tasks whose descriptions the text contains, whatever their case, spaces and punctuation.

    The time is proportional to the length of the text.
    """
    rows = _rows_by_description()
    return {rows[description] for description in _iterate_descriptions(text) if description in rows}


def _iterate_descriptions(text: str) -> Iterator[str]:
    """Yield the words from each "given" to the next "step by step"."""
    for piece in _NO_LETTERS.sub(" ", text.casefold()).split(_START)[1:]:
        description, end, _ = piece[:_MAX_LENGTH].partition(_END)
        if end:
            yield description


@lru_cache(1)
def _rows_by_description() -> dict[str, str]:
    return {description: str(task.id) for task in TASKS for description in _iterate_descriptions(task.description)}
