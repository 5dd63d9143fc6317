"""Seed samples, and assign each combination of words or things to a split.

A sample is drawn again until its combination belongs to its split. So splits have no combination in common. They share
words and kinds of things, without which a model could not learn them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

SPLITS = ("train", "dev", "test")
Drawn = TypeVar("Drawn")
_TRIES = 10_000  #: draws for a sample; a tenth of all draws belongs to each of the smallest splits


def seed_of(*parts: object) -> int:
    """Return a number from 0 to 2**32 - 1 that depends only on `parts`."""
    return int.from_bytes(_digest(parts)[:4], "big")


def split_of(*combination: object) -> str:
    """Return the split of a combination. Of ten combinations, eight are 'train', one is 'dev' and one is 'test'."""
    return (*["train"] * 8, "dev", "test")[int.from_bytes(_digest(("split", *combination))[:8], "big") % 10]


def draws(*parts: object) -> Iterator[Random]:
    """Yield a random generator for each try. `parts` seed it as a text, so all versions of Python make equal draws."""
    for number in range(_TRIES):
        yield Random(f"{parts} {number}")


def sample_of_split(
    source: str, split: str, number: int, draw: Callable[[Random], Drawn], assign: Callable[[Drawn], str]
) -> Drawn:
    """Return the sample with that number: the first draw that `assign` puts into the split.

    Raises ValueError if no draw belongs to the split.
    """
    for random in draws(source, split, number):
        sample = draw(random)
        if assign(sample) == split:
            return sample
    raise ValueError(f"no draw of '{source}' belongs to '{split}': expected one of {', '.join(SPLITS)}")


def _digest(parts: tuple[object, ...]) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()
