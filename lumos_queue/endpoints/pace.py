"""Measure the pace of an endpoint: how many requests at once it serves well, and how long a reply takes.

A pace belongs to the process, not to a slice, because each slice opens its endpoints anew. Workers store their paces
with their heartbeats. A process that uses an endpoint for the first time begins with its share of the other processes'
windows (workers/session.py). A pace expires an hour after its last use, because the server may have changed.
"""

from __future__ import annotations

import time

from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.endpoints.window import Window

FORGET_SECONDS = 3600.0
RATE_SECONDS = 60  #: seconds over which replies are counted
WEIGHT = 0.1  #: of the latest reply in the mean of their seconds


class Pace:
    """The pace of one endpoint with all its replicas. Times are from time.perf_counter."""

    def __init__(self, limit: int):
        self.window = Window(limit)
        self.is_new = True  #: whether nothing has been measured yet
        self.reply_seconds = 0.0  #: mean seconds of the latest replies; 0: none yet
        self.used_at = time.perf_counter()
        self._counts = [0] * RATE_SECONDS  # of replies, by second
        self._second = 0

    def start(self, window: float, reply_seconds: float = 0.0) -> None:
        """Begin with this window and these mean seconds of a reply, unless this process has measured its own."""
        if self.is_new:
            self.window.start(window)
            self.reply_seconds = reply_seconds
            self.is_new = False

    def note_reply(self, send_time: float, now: float) -> bool:
        """Note a reply to a request sent at `send_time`. Return whether the window has changed."""
        seconds = now - send_time
        self.is_new, self.used_at = False, now
        self.reply_seconds += (seconds - self.reply_seconds) * (WEIGHT if self.reply_seconds else 1.0)
        self._pass_time(now)
        self._counts[self._second % RATE_SECONDS] += 1
        return self.window.note_reply(send_time, now)

    @property
    def is_fresh(self) -> bool:
        """Whether the pace was used within the last hour."""
        return time.perf_counter() - self.used_at <= FORGET_SECONDS

    def report(self, in_flight: int = 0, waiting: int = 0, late: int = 0, oldest_seconds: float = 0.0) -> Traffic:
        """Return the pace, together with the requests in flight, as a `Traffic`."""
        return Traffic(
            in_flight,
            waiting,
            round(self.window.size, 1),
            late,
            round(oldest_seconds, 1),
            self.replies_per_minute(time.perf_counter()),
            round(self.reply_seconds, 3),
        )

    def replies_per_minute(self, now: float) -> int:
        self._pass_time(now)
        return sum(self._counts) * 60 // RATE_SECONDS

    def _pass_time(self, now: float) -> None:
        second = int(now)
        if second == self._second:
            return
        for empty_second in range(max(self._second + 1, second - RATE_SECONDS + 1), second + 1):
            self._counts[empty_second % RATE_SECONDS] = 0
        self._second = max(self._second, second)


_paces: dict[str, Pace] = {}


def pace_of(url: str, limit: int) -> Pace:
    """Return this process's pace of the endpoint at `url`, with at most `limit` requests in flight."""
    pace = _paces.get(url)
    if pace is None or not pace.is_fresh:
        pace = _paces[url] = Pace(limit)
    pace.window.set_limit(limit)
    return pace
