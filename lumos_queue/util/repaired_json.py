"""JSON as models write it, repaired by json_repair within a bounded number of steps.

The library looks ahead from many places: a text of 20,000 characters can take it ten seconds. So it gets a text that
counts how often it is looked at. The count is the same on every machine, unlike time: a reply that was read once is
read the same way when its episode is resumed.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import json_repair

MAX_LOOKS = 500_000  #: at characters and parts of the text; replies as models write them take 2 to 5 for each character


def read_repaired_json(text: str) -> Any:
    """The JSON value of a text, as far as it can be repaired.

    Raises ValueError when it cannot be, is nested too deeply, or takes too many looks. Holds the interpreter for less
    than a second for 20,000 characters, whatever they are.
    """
    try:
        return json_repair.loads(_CountedText(text, [MAX_LOOKS]), skip_json_loads=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class _CountedText(str):
    """A text that can be indexed so many times. What the library makes of its beginning is counted, too."""

    __slots__ = ("_budget",)

    def __new__(cls, text: str, budget: list[int]) -> _CountedText:
        """`remaining`: the looks that are left, as the one item of a list."""
        counted_text = super().__new__(cls, text)
        counted_text._budget = budget
        return counted_text

    def __getitem__(self, index: SupportsIndex | slice) -> str:
        self._budget[0] -= 1
        if self._budget[0] < 0:
            raise ValueError(f"repairing it takes more than {MAX_LOOKS:,} looks")
        part = super().__getitem__(index)
        # From the beginning on: the library inserts a bracket there and goes on with the new text.
        return _CountedText(part, self._budget) if isinstance(index, slice) and index.start is None else part

    def __add__(self, suffix: str) -> str:
        return _CountedText(super().__add__(suffix), self._budget)
