"""Where chance comes from, and which part of the data a combination belongs to.

Samples are drawn anew until what they combine belongs to their split. So splits share words and kinds of things, which
has to be if anything is to be learnt from them, and share no combination.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

SPLITS = ("train", "dev", "test")
Drawn = TypeVar("Drawn")
_TRIES = 10_000  #: draws for a sample; one in ten belongs to the smallest splits


def seed_of(*parts: object) -> int:
    """A number that depends on nothing but `parts`, from 0 to 2**32 - 1."""
    return int.from_bytes(_digest(parts)[:4], "big")


def split_of(*combination: object) -> str:
    """The split of a combination: 'train' of eight in ten, 'dev' and 'test' of one each."""
    return (*["train"] * 8, "dev", "test")[int.from_bytes(_digest(("split", *combination))[:8], "big") % 10]


def draws(*parts: object) -> Iterator[Random]:
    """Generators of chance, one for each try; Random's draws from a text are the same in every version of Python."""
    for number in range(_TRIES):
        yield Random(f"{parts} {number}")


def draw_of_split(
    source: str, split: str, number: int, draw: Callable[[Random], Drawn], assign: Callable[[Drawn], str]
) -> Drawn:
    """The sample with that number: the first draw that `assign` gives to the split."""
    for random in draws(source, split, number):
        found = draw(random)
        if assign(found) == split:
            return found
    raise ValueError(f"no draw of '{source}' belongs to '{split}': expected one of {', '.join(SPLITS)}")


def _digest(parts: tuple[object, ...]) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()
