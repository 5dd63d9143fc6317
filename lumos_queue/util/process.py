"""A helper process must not outlive the process that started it, however that ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when the thread that started it ends (Linux; prctl(2), PR_SET_PDEATHSIG).

    With `parent`, the parent's process id as the parent knows it, a parent that is gone already is noticed too.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if parent is not None and os.getppid() != parent:
            os._exit(0)
