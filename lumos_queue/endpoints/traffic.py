"""The traffic between a process and an endpoint, which heartbeats report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lumos_queue.util.wording import format_rough_seconds


class Traffic(NamedTuple):
    """The traffic at one moment. Heartbeats store it as a list; earlier versions stored only its first two entries."""

    in_flight: int = 0
    waiting: int = 0  #: requests that wait for a slot
    window: float = 0.0  #: estimate of the requests at once that the endpoint serves well; 0: unknown
    late: int = 0  #: requests in flight that are late
    oldest_seconds: float = 0.0  #: since the oldest request in flight was sent
    per_minute: int = 0  #: replies in the last minute
    reply_seconds: float = 0.0  #: mean of the latest replies; 0: none yet

    @classmethod
    def read(cls, values: Sequence[float]) -> Traffic:
        """Return the traffic that a heartbeat has stored."""
        in_flight, waiting, window, late, oldest, rate, seconds = (*values, *cls()[len(values) :])
        return cls(int(in_flight), int(waiting), window, int(late), oldest, int(rate), seconds)

    @classmethod
    def sum(cls, parts: Iterable[Traffic]) -> Traffic:
        """Return the total traffic of several processes to one endpoint."""
        in_flight, pending, windows, late, oldest, rates, seconds = zip(*parts, strict=True)
        means = [value for value in seconds if value] or [0.0]
        return cls(
            sum(in_flight), sum(pending), sum(windows), sum(late), max(oldest), sum(rates), sum(means) / len(means)
        )

    def describe(self) -> str:
        """Return the traffic as text, for people."""
        span = round(self.oldest_seconds)
        if not self.late:
            oldest = f", the oldest for {format_rough_seconds(span)}" if self.in_flight else ""
            return (
                f"{self.in_flight:,} in flight{oldest}, window {self.window:.0f}, {self.per_minute:,} replies a minute"
            )
        answer_count = round(self.per_minute * span / 60)
        return f"late: {self.late:,} in flight, about {answer_count:,} answered in {format_rough_seconds(span)}"
