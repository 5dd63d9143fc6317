"""Recognize errors of a full disk and of a folder that cannot be written, also from libraries."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
#: torch does not report the system's error. On a local file, its writer fails for no other reason.
_TORCH = "PytorchStreamWriter failed writing"


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full. Rust libraries have its number only in their text."""
    return _TORCH in str(error) or _find_number(error, _FULL) is not None


def describe_write_failure(error: BaseException, folder: Path | str) -> str:
    """Return what a person has to do so that `folder` can be written again; '' if the error has another cause."""
    if is_disk_full(error):
        return f"The disk of '{folder}' is full: make room there."
    number = _find_number(error, _FORBIDDEN)
    file = getattr(error, "filename", None)
    if number is None or (file and not Path(os.fsdecode(file)).resolve().is_relative_to(Path(folder).resolve())):
        return ""
    return f"'{folder}' cannot be written ({os.strerror(number)}): make it writable."


def _find_number(error: BaseException, numbers: tuple[int, ...]) -> int | None:
    """Return the number of the system's error if it is among `numbers`. Libraries have it only in their text."""
    number = getattr(error, "errno", None)
    text = str(error)
    in_text = (code for code in numbers if f"os error {code})" in text or f"strerror: {os.strerror(code)}" in text)
    return number if number in numbers else next(in_text, None)
