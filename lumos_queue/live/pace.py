"""The pace of a job and its remaining time.

The clock is monotonic, so rates and remaining times are never negative.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MIN_SECONDS, MIN_ITEMS = 30.0, 5  #: the shortest interval for a rate, after watching for that long
MAX_SECONDS = 900.0  #: the longest interval
APART_SECONDS = 1.0  #: between two samples


@dataclass(frozen=True, slots=True)
class Sample:
    """The numbers of completed items and of tokens at a moment."""

    timestamp: float
    items: int
    tokens: int


class Pace:
    """The rates over the latest interval with enough progress. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._samples: deque[Sample] = deque()
        self.items_per_second = self.tokens_per_second = 0.0
        self.is_known = False  #: whether two samples allow rates

    def observe(self, items: int, tokens: int) -> None:
        """Note the numbers of items and tokens that are done now. If there are fewer items than before, begin anew."""
        sample = Sample(self._clock(), items, tokens)
        if self._samples and items < self._samples[-1].items:
            self._samples.clear()
        while self._samples and sample.timestamp - self._samples[0].timestamp > MAX_SECONDS:
            self._samples.popleft()
        start = self._start(sample)
        if len(self._samples) < 2 or sample.timestamp - self._samples[-1].timestamp >= APART_SECONDS:
            self._samples.append(sample)
        self.items_per_second = self.tokens_per_second = 0.0
        self.is_known = start is not None and sample.timestamp > start.timestamp
        if start and (seconds := sample.timestamp - start.timestamp) > 0:
            self.items_per_second = max(0, items - start.items) / seconds
            self.tokens_per_second = max(0, tokens - start.tokens) / seconds

    def _start(self, latest: Sample) -> Sample | None:
        for sample in reversed(self._samples):
            if latest.timestamp - sample.timestamp >= MIN_SECONDS and latest.items - sample.items >= MIN_ITEMS:
                return sample
        return self._samples[0] if self._samples else None

    def seconds_left(self, items: int) -> float | None:
        """Return the expected seconds for `items` further items; None if there are none, or if the pace is unknown."""
        return items / self.items_per_second if self.items_per_second > 0 and items > 0 else None
