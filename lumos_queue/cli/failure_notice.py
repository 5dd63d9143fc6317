"""Print why items fail, for a person who waits: at once, then every minute while the reason stays the same."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumos_queue.cli.outage import REPORT_SECONDS
from lumos_queue.util.similar_messages import alike_key

CHANGE_SECONDS = 5.0  #: between two lines with different reasons, as a server may send another text each time


class FailureNotice:
    """Prints why items fail, not too often. `report` prints a line, `clock` returns seconds."""

    def __init__(self, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic):
        self._report, self._clock = report, clock
        self._reason = ""
        self._last_report = float("-inf")

    def update(self, reason: str, line: str) -> None:
        """Print `line` if the last line is old enough. `reason`: the most frequent reason; '' if no item fails."""
        if not reason:
            return
        age, key = self._clock() - self._last_report, alike_key(reason)
        if age >= (REPORT_SECONDS if key == self._reason else CHANGE_SECONDS):
            self._reason, self._last_report = key, self._clock()
            self._report(line)
