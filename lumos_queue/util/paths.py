"""Whether something can be written at a path, checked before any work is done."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.errors import SpecError


def require_folders(path: Path, option: str) -> None:
    """Raises SpecError when a part of the path above its last one is a file; `option` is where to name another."""
    for above in path.absolute().parents:
        if not above.exists():
            continue
        if above.is_dir():
            return
        raise SpecError(f"'{above}' is a file, not a folder: '{path}' cannot be in it. Name another with {option}.")
