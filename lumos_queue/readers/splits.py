"""Find the split in a file's name: `test_socratic.jsonl`, `dev.json`, `aokvqa_v1p0_val.json`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from lumos_queue.errors import SpecError, unknown

_NAMES = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
}
USUAL = "train"


def split_of(path: Path | None, option: str, splits: Sequence[str]) -> str:
    """Return the split of a source's rows: `option`, or `train` if the option is ''.

    Raises SpecError if the source has no such split. It also does if the option is missing and the file's name has
    another split than `train`, so that test rows do not become training rows unnoticed.
    """
    split_in_name = find_split_name(path.name) if path and not option else None
    if split_in_name not in (None, USUAL):
        choices = [f"--split {split}" for split in splits if split in (split_in_name, USUAL)]
        raise SpecError(
            f"The name of '{path.name if path else ''}' has the split '{split_in_name}', and no --split was given. "
            f"Give the split of its rows: {' or '.join(choices or [f'--split {split}' for split in splits])}."
        )
    split = option or USUAL
    if split not in splits:
        raise unknown("split", split, splits)
    return split


def find_split_name(name: str) -> str | None:
    """Return the split that a word of a file's name means; None if no word does, or if words mean different splits."""
    splits = {_NAMES[word] for word in re.split(r"[^a-z]+", name.lower()) if word in _NAMES}
    return splits.pop() if len(splits) == 1 else None
