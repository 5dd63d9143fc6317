"""Which worker sessions are silent, as one process observes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

JUMP_LEASES = 1 / 3  #: of the database's clock against this process's, in leases, from which it is not trusted


class SilenceWatch:
    """Observes heartbeats and returns the sessions that have been silent for longer than the lease.

    A session is silent when its heartbeat is older than a lease by the database's clock. That clock may be set while
    processes work. So a session is silent as well when this process has seen the same heartbeat for a lease by its own
    monotonic clock: after the database's clock was set back, a dead session's heartbeat lies in the future. And for a
    lease after the database's clock was set forward only the monotonic clock counts, as every heartbeat looks old.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic):
        """`clock`: the monotonic clock."""
        self.lease_seconds = lease_seconds
        self._clock = clock
        self._seen: dict[int, tuple[float, float]] = {}  # by session its heartbeat, and since when it is the newest
        self._last: tuple[float, float] | None = None  # the database's clock, and this process's just before
        self._jumped_at: float | None = None

    def start(self) -> float:
        """Return the time to pass to `look`, taken before the heartbeats are read."""
        return self._clock()

    def look(self, heartbeats: Mapping[int, float], database_now: float, started: float) -> list[int]:
        """Return the silent ones of all sessions that have not ended.

        `heartbeats`: by session the time of the latest one; `database_now`: when they were read. Both are seconds by
        the database's clock. `started`: what `start` returned.
        """
        moment = self._clock()
        if self._last is not None:
            last_database, last_started = self._last
            # A slow query lengthens the second difference only.
            if database_now - last_database - (moment - last_started) > JUMP_LEASES * self.lease_seconds:
                self._jumped_at = moment
        self._last = database_now, started
        seen = {}
        for session, at in heartbeats.items():
            before = self._seen.get(session)
            seen[session] = before if before is not None and before[0] == at else (at, moment)
        self._seen = seen
        trusted = self._jumped_at is None or moment - self._jumped_at > self.lease_seconds
        return [
            session
            for session, (at, since) in seen.items()
            if (trusted and at < database_now - self.lease_seconds) or started - since > self.lease_seconds
        ]
