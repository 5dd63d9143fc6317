"""A limit on the work of a block of code, in processor time.

Waiting for a busy processor does not count, so that the limit means the same on a loaded machine.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def cpu_limit(seconds: float = 20.0) -> Iterator[None]:
    """Fail the test when the block uses more than so many seconds of processor time of this process.

    It ends what would run for hours. A test passes a text so long that a reader whose time grows with the square of
    the length exceeds the limit, and one whose time grows with the length needs a small part of it.
    """

    def fail(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"it used more than {seconds:g} s of processor time")

    previous = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)
