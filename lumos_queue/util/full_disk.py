"""A full disk, as the libraries tell of it."""

from __future__ import annotations

import errno

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
#: torch names no error of the system; its writer fails for no other reason on a local file.
_TORCH = "PytorchStreamWriter failed writing"


def is_disk_full(error: BaseException) -> bool:
    """Whether the disk was full. Libraries in Rust say so in the text of errors of their own."""
    text = str(error)
    is_in_text = any(f"os error {number})" in text for number in _NUMBERS) or _TORCH in text
    return is_in_text or getattr(error, "errno", None) in _NUMBERS
