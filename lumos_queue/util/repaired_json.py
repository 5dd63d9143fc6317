"""Read JSON as models write it, repaired by the library json_repair within a bounded number of steps.

The library looks ahead from many positions, so that a text of 20,000 characters can take ten seconds. So the library
gets a text object that counts the accesses to it. Unlike the time, the count is the same on every machine, so a reply
is read the same way when its episode is resumed.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import json_repair

MAX_LOOKS = 500_000  #: accesses to characters and parts of the text; replies of models take 2 to 5 for each character


def read_repaired_json(text: str) -> Any:
    """Return the JSON value of a text, repaired if necessary.

    Raises ValueError for a text that cannot be repaired, is nested too deeply, or takes more than MAX_LOOKS accesses.
    Any text of 20,000 characters takes less than a second.
    """
    try:
        return json_repair.loads(_CountedText(text, [MAX_LOOKS]), skip_json_loads=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _CountedText(str):
    """A text that can be indexed a limited number of times. Texts that the library makes from it count, too."""

    __slots__ = ("_budget",)

    def __new__(cls, text: str, budget: list[int]) -> _CountedText:
        """`budget` is a list with one number: the remaining accesses."""
        counted_text = super().__new__(cls, text)
        counted_text._budget = budget
        return counted_text

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        self._budget[0] -= 1
        if self._budget[0] < 0:
            raise ValueError(f"repairing it takes more than {MAX_LOOKS:,} looks")
        part = super().__getitem__(index)
        # The library takes the beginning, inserts a bracket after it and continues with the new text.
        return _CountedText(part, self._budget) if isinstance(index, slice) and index.start is None else part

    def __add__(self, suffix: str) -> str:
        return _CountedText(super().__add__(suffix), self._budget)
