"""Find near-duplicates by MinHash: texts that share most of their shingles (runs of three words).

Each shingle is hashed once (one-permutation MinHash). The hash selects one of 64 bins, and each bin keeps its smallest
hash. An empty bin copies another bin. The exact similarity is computed for texts that share a band of bins. So no pair
below the threshold is reported, and a pair at the threshold is missed in fewer than 1 % of cases.
"""

from __future__ import annotations

import hashlib
import re
import struct
from functools import cache

BINS = 64
SHINGLE_WORDS = 3
_WORD = re.compile(r"\w+|[^\w\s]")
_EMPTY = 2**64 - 1


def shingles(text: str) -> frozenset[int]:
    """Return the hash of each shingle; the hash of the whole text when it is shorter than a shingle."""
    words = _WORD.findall(text.casefold())
    if len(words) < SHINGLE_WORDS:
        return frozenset((_hash(" ".join(words)),))
    return frozenset(
        _hash(" ".join(words[start : start + SHINGLE_WORDS])) for start in range(len(words) - SHINGLE_WORDS + 1)
    )


def similarity(first: frozenset[int], second: frozenset[int]) -> float:
    """Return the Jaccard similarity of two sets of shingles, from 0 to 1."""
    return len(first & second) / len(first | second)


def bands(hashes: frozenset[int], threshold: float) -> list[bytes]:
    """Return a text's keys, from its shingles. Two texts as similar as `threshold` share a key in 99 % of cases."""
    smallest = _signature(hashes)
    width = _width(threshold)
    return [struct.pack(f"<{1 + width}Q", start, *smallest[start : start + width]) for start in range(0, BINS, width)]


def _width(threshold: float) -> int:
    return next(width for width in (8, 4, 2, 1) if width == 1 or (1 - threshold**width) ** (BINS / width) <= 0.01)


def _signature(hashes: frozenset[int]) -> list[int]:
    smallest = [_EMPTY] * BINS
    for value in hashes:
        index, rest = value % BINS, value // BINS
        if rest < smallest[index]:
            smallest[index] = rest
    return [value if value != _EMPTY else _borrow(smallest, index) for index, value in enumerate(smallest)]


def _borrow(smallest: list[int], index: int) -> int:
    """Return a value for an empty bin: that of the first bin with a value, in an order that is fixed for each bin."""
    return next(smallest[donor] for donor in _donors(index) if smallest[donor] != _EMPTY)


@cache
def _donors(index: int) -> tuple[int, ...]:
    """Return the bins in the order in which an empty bin tries them."""
    return tuple(sorted(range(BINS), key=lambda donor: _hash(f"{index} {donor}")))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
