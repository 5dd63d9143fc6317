"""Recognise a published checkpoint in any folder by the digest of its weights.

The copy of the checkpoint in the cache of Hugging Face is the reference. The names of folders and the names that a
configuration states are no evidence, because everyone can write them.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.weights import check_weights, find_cached_weights


def is_folder(weights: str) -> bool:
    """Return whether the name of weights is a folder. A folder comes before an id in the cache."""
    return from_launch(Path(weights).expanduser()).is_dir()


@cache
def is_checkpoint(folder: Path, checkpoint: str) -> bool:
    """Return whether the weights in a folder are those of the cached checkpoint with that id.

    A process compares the same folder only once, because weights have gigabytes.
    """
    try:
        cached_folder = find_cached_weights(checkpoint)
        is_as_large = _count_bytes(folder) == _count_bytes(cached_folder)
    except SpecError:
        return False
    return is_as_large and _digest(folder) == _digest(cached_folder)


def _count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in check_weights(folder))


def _digest(folder: Path) -> str:
    """Return the digest of the weights alone: a copy may have another tokenizer's file, or another description."""
    digests = []
    for path in check_weights(folder):
        with open_regular(path, folder) as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
