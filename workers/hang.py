"""End a process of `lumos` that hangs, so that another process replaces it.

A program that calls the Python API must not be ended, so there `EmbeddedRun.abandon` is called instead.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

HUNG = 70  #: exit status of a process that hangs (EX_SOFTWARE of sysexits.h)
OnHang = Callable[[str], None]  #: called from another thread than the hanging thread, with the problem as one clause
log = logging.getLogger(__name__)


def end_process(problem: str) -> None:
    """Log the problem, and end this process at once, without waiting for its threads."""
    log.critical("%s: this process ends", problem)
    logging.shutdown()
    os._exit(HUNG)
