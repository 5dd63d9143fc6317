"""Keys and values of token sequences that a model has read, for later ones that begin alike.

The calls of one dialogue repeat all that came before, and all dialogues of a role begin with the same instructions:
most of a prompt has been read already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MIN_TOKENS = 16  #: a shorter beginning is read again: that is as fast as copying it

#: For each layer keys and values, [head, position, channel].
Layers = list[tuple[Any, Any]]


class PrefixCache:
    """The sequences used last, up to a number of bytes."""

    def __init__(self, max_bytes: int):
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: list[tuple[list[int], Layers, int]] = []  #: tokens, layers, bytes; the one used last is last

    def find(self, tokens: Sequence[int]) -> tuple[int, Layers]:
        """How many of the first tokens were read already, and of which sequence that has the layers; 0 for none.

        It is never all of them: the last one has to be read for what comes next.
        """
        best, best_index = 0, -1
        for index, (known_tokens, _, _) in enumerate(self._entries):
            common = count_common(tokens, known_tokens)
            if common >= best:
                best, best_index = common, index
        best = min(best, len(tokens) - 1)
        if best < MIN_TOKENS:
            return 0, []
        self._entries.append(self._entries.pop(best_index))
        return best, self._entries[-1][1]

    def add(self, tokens: list[int], layers: Layers) -> None:
        """Keep a sequence; one that it continues is dropped, and so are those that were not used for longest."""
        size = sum(part.numel() * part.element_size() for layer in layers for part in layer)
        if size > self._max_bytes:
            return
        retained = [sequence for sequence in self._entries if count_common(tokens, sequence[0]) < len(sequence[0])]
        retained.append((tokens, layers, size))
        self._bytes = sum(sequence[2] for sequence in retained)
        while self._bytes > self._max_bytes:
            self._bytes -= retained.pop(0)[2]
        self._entries = retained


def count_common(first: Sequence[int], second: Sequence[int]) -> int:
    """The number of tokens at the beginning that are the same."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # lists are compared much faster than their elements one by one
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
