"""Compute the sha256 of a file of rows, and check that the file stays the same until its last row is read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import open_regular


@contextmanager
def watch_file(path: Path | None) -> Generator[str, None, None]:
    """Yield the sha256 of a file whose rows are read in this context; '' for a folder, a pipe and no file.

    Raises SpecError at the end if the file has changed, because the sha256 may not match the rows. Yields '' for a file
    that cannot be opened; the reader of its rows reports why.
    """
    before = None if path is None else _state_of(path)
    if path is None or before is None:
        yield ""
        return
    try:
        with open_regular(path) as file:
            before = _identity(os.fstat(file.fileno()))
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, SpecError):
        yield ""
        return
    yield sha256
    if _state_of(path) != before:
        raise SpecError(
            f"'{path}' changed while it was read: nothing was stored. Submit again when it no longer changes."
        )


def _state_of(path: Path) -> tuple[int, ...] | None:
    """Return the state of a regular file (`_identity`); None for any other file. The file is not opened."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return _identity(state) if stat.S_ISREG(state.st_mode) else None


def _identity(state: os.stat_result) -> tuple[int, ...]:
    """Return device and inode numbers, size in bytes, and the times of the last changes in nanoseconds."""
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
