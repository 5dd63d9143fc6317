"""Find silent worker sessions, as one process observes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

JUMP_LEASES = 1 / 3  #: in leases: the database's clock is not trusted after a larger jump against this process's clock


class SilenceWatch:
    """Observes heartbeats and returns the sessions that have been silent for longer than the lease.

    A session is silent when its heartbeat is older than a lease by the database's clock. That clock may be set while
    processes work. After it was set back, a dead session's heartbeat lies in the future. So a session is also silent
    when this process has observed the same heartbeat for a lease by its own monotonic clock. After the database's clock
    was set forward, every heartbeat looks old. So for a lease only the monotonic clock counts.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic):
        """`clock`: the monotonic clock."""
        self.lease_seconds = lease_seconds
        self._clock = clock
        self._latest_heartbeats: dict[
            int, tuple[float, float]
        ] = {}  # by session: its newest heartbeat, and when this process first observed it
        self._last: tuple[float, float] | None = None  # the database's clock, and this process's just before
        self._jump_time: float | None = None

    def start(self) -> float:
        """Return the time to pass to `look`, taken before the heartbeats are read."""
        return self._clock()

    def look(self, heartbeats: Mapping[int, float], database_now: float, start_time: float) -> list[int]:
        """Return the silent ones of all sessions that have not ended.

        `heartbeats`: the time of the latest heartbeat, by session; `database_now`: the time at which they were read.
        Both are seconds by the database's clock. `start_time`: the time that `start` returned.
        """
        moment = self._clock()
        if self._last is not None:
            last_database, last_start = self._last
            # A slow query lengthens the second difference only.
            if database_now - last_database - (moment - last_start) > JUMP_LEASES * self.lease_seconds:
                self._jump_time = moment
        self._last = database_now, start_time
        latest = {}
        for session, heartbeat in heartbeats.items():
            before = self._latest_heartbeats.get(session)
            latest[session] = before if before is not None and before[0] == heartbeat else (heartbeat, moment)
        self._latest_heartbeats = latest
        is_trusted = self._jump_time is None or moment - self._jump_time > self.lease_seconds
        return [
            session
            for session, (heartbeat, since) in latest.items()
            if (is_trusted and heartbeat < database_now - self.lease_seconds) or start_time - since > self.lease_seconds
        ]
