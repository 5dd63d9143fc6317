"""Number the words of texts, and make batches of the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from lumos_queue.experts.backends.own.models.texts import BETWEEN, MASK, UNKNOWN
from lumos_queue.experts.backends.own.networks.words import PAD
from lumos_queue.training.experts.lesson import Chance

SPECIAL = ("<pad>", "<begin>", "<end>", UNKNOWN, BETWEEN, MASK)  #: the first three have fixed numbers
_HIDDEN = 0.01  #: share of words that are unknown in training, so that the expert can read unknown words


def list_words(texts: Iterable[str]) -> list[str]:
    """Return the special words, then every word of the texts in order."""
    return [*SPECIAL, *sorted({word for text in texts for word in text.split()} - set(SPECIAL))]


class Numbers:
    """Maps words to numbers."""

    def __init__(self, words: Sequence[str]):
        self._numbers = {word: number for number, word in enumerate(words)}
        self._unknown = self._numbers[UNKNOWN]

    def of(self, words: Iterable[str]) -> list[int]:
        return [self._numbers.get(word, self._unknown) for word in words]

    def hide(self, numbers: list[int], chance: Chance) -> list[int]:
        """Return the numbers with some words made unknown at random; special words stay."""
        hidden_mask = chance.random(len(numbers)) < _HIDDEN
        return [
            self._unknown if is_hidden and number >= len(SPECIAL) else number
            for number, is_hidden in zip(numbers, hidden_mask, strict=True)
        ]


def pad(texts: Sequence[Sequence[int]]) -> Tensor:
    """Return a tensor of shape (batch, longest)."""
    length = max(map(len, texts))
    return torch.tensor([[*text, *[PAD] * (length - len(text))] for text in texts])
