"""Cache keys and values of token sequences that a model has read, for later sequences with the same beginning.

A prompt repeats the dialogue so far, and all dialogues of a role begin with the same instructions. So the model has
already read most of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

MIN_TOKENS = 16  #: a shorter beginning is read again, which is as fast as copying

#: Keys and values of each layer, [head, position, channel].
if TYPE_CHECKING:
    import torch

    Layers = list[tuple[torch.Tensor, torch.Tensor]]
else:
    Layers = list  # importing torch takes seconds


class PrefixCache:
    """A cache of the most recently used sequences, up to a number of bytes."""

    def __init__(self, max_bytes: int):
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: list[
            tuple[list[int], Layers, int]
        ] = []  #: tokens, layers, bytes; the most recently used is last

    def find(self, tokens: Sequence[int]) -> tuple[int, Layers]:
        """Return how many of the first tokens are cached, and the keys and values of a sequence that begins with them.

        The number is less than all tokens, because the last token must be read to predict the next.
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
        """Add a sequence. Remove sequences that are beginnings of it, and then the least recently used sequences."""
        size = sum(part.numel() * part.element_size() for layer in layers for part in layer)
        if size > self._max_bytes:
            return
        sequences = [sequence for sequence in self._entries if count_common(tokens, sequence[0]) < len(sequence[0])]
        sequences.append((tokens, layers, size))
        self._bytes = sum(sequence[2] for sequence in sequences)
        while self._bytes > self._max_bytes:
            self._bytes -= sequences.pop(0)[2]
        self._entries = sequences


def count_common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of equal tokens at the beginning of two sequences."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # slices compare much faster than single elements
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
