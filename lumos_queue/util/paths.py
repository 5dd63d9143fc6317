"""Check before any work whether a path can be written."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.errors import SpecError


def require_folders(path: Path, option: str) -> None:
    """Raise SpecError if a parent of the path is a file. The message names `option` as the way to give another path."""
    for above in path.absolute().parents:
        if not above.exists():
            continue
        if above.is_dir():
            return
        raise SpecError(
            f"'{above}' is a file, not a folder: '{path}' cannot be in it. Name another path with {option}."
        )
