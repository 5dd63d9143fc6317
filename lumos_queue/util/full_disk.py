"""Recognize errors of a full disk, also from libraries."""

from __future__ import annotations

import errno

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
#: torch does not report the system's error. On a local file, its writer fails for no other reason.
_TORCH = "PytorchStreamWriter failed writing"


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full. Rust libraries have its number only in their text."""
    text = str(error)
    is_in_text = any(f"os error {number})" in text for number in _NUMBERS) or _TORCH in text
    return is_in_text or getattr(error, "errno", None) in _NUMBERS
