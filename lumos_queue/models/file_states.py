"""Whether the files of a model that a job wrote are still there as it wrote them."""

from __future__ import annotations

from typing import Any

from lumos_queue.endpoints.model_folder import digest_of_files, weights
from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch

PRESENT, CHANGED, MISSING = "present", "changed", "missing"


def state_of_files(row: Any) -> str:
    """Of a row of the table `model`: 'present', 'changed' (another digest), or 'missing'."""
    folder = from_launch(row.path)
    if not folder.is_dir() or not weights(folder):
        return CHANGED if folder.is_dir() and any(folder.iterdir()) else MISSING
    try:
        return PRESENT if digest_of_files(weights(folder)) == row.digest else CHANGED
    except SpecError:  # something other than a file took the place of one
        return CHANGED
