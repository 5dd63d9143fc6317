"""Decide when the next checkpoint within an item is due, so that checkpoints take only a small part of the time."""

from __future__ import annotations

import time

#: Part of the time that checkpoints within an item may take.
MAX_SHARE = 0.05


class CheckpointClock:
    """Measures the time since the newest checkpoint, and the duration of checkpoints."""

    def __init__(self, seconds: float):
        """`seconds`: between two checkpoints, at least."""
        self.interval = seconds  #: seconds between two checkpoints
        self._least = seconds
        self._begin_time = self._saved_time = time.monotonic()

    def start(self) -> None:
        """Note that the steps begin."""
        self._saved_time = time.monotonic()

    def is_due(self) -> bool:
        return time.monotonic() - self._saved_time >= self.interval

    def begin_checkpoint(self) -> None:
        self._begin_time = time.monotonic()

    def end_checkpoint(self) -> None:
        """Note that a checkpoint is complete. The interval becomes longer if the checkpoint took long."""
        self._saved_time = time.monotonic()
        self.interval = max(self._least, (self._saved_time - self._begin_time) / MAX_SHARE)
