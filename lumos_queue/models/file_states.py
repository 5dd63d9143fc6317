"""Check whether the files of a trained model are unchanged since the job wrote them."""

from __future__ import annotations

from typing import Any

from lumos_queue.endpoints.model_folder import digest_of_files, weights
from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch

PRESENT, CHANGED, MISSING = "present", "changed", "missing"


def state_of_files(row: Any) -> str:
    """Return the state of a model's files: PRESENT, MISSING, or CHANGED (another digest). `row` is the model's row."""
    folder = from_launch(row.path)
    if not folder.is_dir() or not weights(folder):
        return CHANGED if folder.is_dir() and any(folder.iterdir()) else MISSING
    try:
        return PRESENT if digest_of_files(weights(folder)) == row.digest else CHANGED
    except SpecError:  # a path is not a regular file
        return CHANGED
