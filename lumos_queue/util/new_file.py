"""Write a new file completely or not at all, and never over another file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.write_failures import is_disk_full


def require_new(path: Path) -> None:
    """Raise SpecError if the path exists already, or its folder does not exist."""
    if os.path.lexists(path):
        raise SpecError(f"'{path}' exists already: name a new file, or remove that one first.")
    if not path.parent.is_dir():
        raise SpecError(f"Cannot write '{path}': there is no folder '{path.parent}'. Make it, or name another file.")


def write_new(path: Path, data: bytes) -> int:
    """Write a file that must not exist yet, and return its size in bytes. After a failure, no part of the file remains.

    Raises SpecError in the cases of `require_new`, for a folder that cannot be written, and for a full disk.
    """
    require_new(path)
    part = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        try:
            with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)  # a rename would replace a file that was created there meanwhile
        finally:
            with suppress(OSError):
                os.unlink(part)
    except FileExistsError:
        raise SpecError(f"'{path}' exists already: name a new file, or remove that one first.") from None
    except OSError as error:
        if is_disk_full(error):
            raise SpecError(
                f"The disk is full: '{path}' was not written. Free some space, or name a file on another disk."
            ) from None
        raise SpecError(f"Cannot write '{path}': {error.strerror}.") from None
    return len(data)
