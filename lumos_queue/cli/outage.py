"""Print lines about an outage for a person who waits: at its start, every minute while it lasts, and at its end."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumos_queue.errors import DatabaseFailure
from lumos_queue.util.wording import format_rough_seconds

REPORT_SECONDS = 60.0  #: between two lines about the same outage


class Outage:
    """A problem that stops the progress of a job. `report` prints a line, `clock` returns seconds."""

    def __init__(self, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic):
        self._report, self._clock = report, clock
        self._since: float | None = None
        self._last_report = 0.0

    def update(self, cause: str, over: bool) -> None:
        """Print a line if it is due. `cause`: the problem, or '' during a request; `over`: the request was answered."""
        now = self._clock()
        if cause and self._since is None:
            self._since = self._last_report = now
            self._report(f"waits: {cause}")
        elif cause and now - self._last_report >= REPORT_SECONDS:
            self._last_report = now
            self._report(f"still waits after {self._seconds(now)}: {cause}")
        elif not cause and over and self._since is not None:
            self._report(f"continues after {self._seconds(now)}")
            self._since = None

    def _seconds(self, now: float) -> str:
        assert self._since is not None
        return format_rough_seconds(now - self._since)


def format_silence(failure: DatabaseFailure) -> str:
    """Return the line about a database that does not answer."""
    return f"the database does not answer: {failure.driver_message.splitlines()[-1]}"
