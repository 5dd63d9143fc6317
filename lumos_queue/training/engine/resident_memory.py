"""The memory of this process."""

from __future__ import annotations

import resource


def peak_resident_bytes() -> int:
    """Return the largest size that this process has had in memory, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
