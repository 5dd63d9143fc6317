"""Find silent worker sessions, as one process observes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

JUMP_LEASES = 1 / 3  #: in leases: the database's clock is not trusted after a larger jump against this process's clock


class SilenceWatch:
    """Observes heartbeats and returns the sessions that have been silent for longer than the lease.

    A session is silent when its heartbeat is older than a lease by the database's clock. Somebody may set that clock
    while processes work. If it is set back, the heartbeat of a dead session is in the future. So a session is also
    silent when this process has seen the same heartbeat for a lease by its own monotonic clock. If the database's clock
    is set forward, every heartbeat looks old. So for the next lease, only the monotonic clock counts.
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
        """Return the present time of the monotonic clock, for `look`. Call this before the heartbeats are read."""
        return self._clock()

    def look(self, heartbeats: Mapping[int, float], database_now: float, start_time: float) -> list[int]:
        """Return the numbers of the silent sessions.

        `heartbeats`: the time of the latest heartbeat of each session that has not ended. `database_now`: the time at
        which they were read. Both are in seconds by the database's clock. `start_time`: the time that `start` returned.
        """
        moment = self._clock()
        if self._last is not None:
            last_database, last_start = self._last
            # A slow query lengthens the second difference only.
            if database_now - last_database - (moment - last_start) > JUMP_LEASES * self.lease_seconds:
                self._jump_time = moment
        self._last = database_now, start_time
        latest: dict[int, tuple[float, float]] = {}
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
