"""The lease of worker sessions: how long a session may be silent, and the sessions that were silent for longer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_

from db.engine.time_conditions import is_recent
from db.models import Heartbeat, WorkerSessionRow

HUNG_LEASES = 4  #: leases after which an event loop that hangs is given up


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker session that sends no heartbeat for `seconds` loses its items. All other times are parts of a lease."""

    seconds: float

    @property
    def idle_milliseconds(self) -> int:
        """A server ends a transaction that was idle for so long. It holds locks, so it must end before the lease."""
        return int(self.seconds * 1000 * 2 / 3)

    @property
    def reap_seconds(self) -> float:
        """The time between two searches for silent sessions."""
        return self.seconds / 3

    @property
    def jump_seconds(self) -> float:
        """The database's clock is not trusted after a larger jump against this process's clock."""
        return self.seconds / 3

    @property
    def notice_seconds(self) -> float:
        """A worker logs that the database does not answer after so long."""
        return 0.3 * self.seconds

    @property
    def hung_seconds(self) -> float:
        """An event loop that hangs for longer is given up."""
        return HUNG_LEASES * self.seconds

    def is_silent(self, heartbeat: float, database_now: float) -> bool:
        """Whether a heartbeat is older than the lease. Both times are in seconds by the database's clock."""
        return heartbeat < database_now - self.seconds

    def is_alive(self) -> ColumnElement[bool]:
        """Return the SQL condition that a session (joined with its heartbeat) has not ended, and is not silent."""
        return and_(WorkerSessionRow.ended_at.is_(None), is_recent(Heartbeat.at, self.seconds))


class SilenceWatch:
    """Observes heartbeats and returns the sessions that have been silent for longer than the lease.

    A session is silent when its heartbeat is older than a lease by the database's clock. Somebody may set that clock
    while processes work. If it is set back, the heartbeat of a dead session is in the future. So a session is also
    silent when this process has seen the same heartbeat for a lease by its own monotonic clock. If the database's clock
    is set forward, every heartbeat looks old. So for the next lease, only the monotonic clock counts.
    """

    def __init__(self, lease: Lease, clock: Callable[[], float] = time.monotonic):
        """`clock`: the monotonic clock."""
        self.lease = lease
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
            if database_now - last_database - (moment - last_start) > self.lease.jump_seconds:
                self._jump_time = moment
        self._last = database_now, start_time
        latest: dict[int, tuple[float, float]] = {}
        for session, heartbeat in heartbeats.items():
            before = self._latest_heartbeats.get(session)
            latest[session] = before if before is not None and before[0] == heartbeat else (heartbeat, moment)
        self._latest_heartbeats = latest
        is_trusted = self._jump_time is None or moment - self._jump_time > self.lease.seconds
        return [
            session
            for session, (heartbeat, since) in latest.items()
            if (is_trusted and self.lease.is_silent(heartbeat, database_now)) or start_time - since > self.lease.seconds
        ]
