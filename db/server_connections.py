"""The connections to a PostgreSQL server that are in use, and the time of its last answer, to notice its silence.

A network that drops everything is silent for hours, and the driver waits as long. So a thread that needs no database
watches the clock (workers/watchdog.py) and cuts connections that have waited too long. The driver then reports that
the connection was lost.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import Engine, event

SLOW = 10  #: a single connection may wait this many times longer than all connections together


class ServerConnections:
    """The connections of one engine that are out of its pool."""

    def __init__(self, engine: Engine):
        self._answer_time = time.monotonic()
        self._out: dict[int, tuple[Any, float]] = {}  # by id of the pool's record: driver's connection, since when
        self._lock = threading.Lock()
        event.listen(engine, "checkout", self._take)
        event.listen(engine, "checkin", self._return)

    @property
    def heard_at(self) -> float:
        """The time (time.monotonic) at which a connection was last returned intact."""
        return self._answer_time

    def silent_seconds(self) -> float:
        """For how long connections have been waiting while none was answered; 0.0 when none waits."""
        with self._lock:
            since = min((timestamp for _, timestamp in self._out.values()), default=None)
        return 0.0 if since is None else time.monotonic() - max(since, self._answer_time)

    def close_silent(self, seconds: float) -> int:
        """Cut connections that wait for a server that has been silent for `seconds`; return how many.

        While the server answers on other connections, a waiting connection is slow, and is cut only after SLOW times as
        long.
        """
        now = time.monotonic()
        limit = seconds if self.silent_seconds() >= seconds else SLOW * seconds
        with self._lock:
            overdue = [(key, line) for key, (line, since) in self._out.items() if now - since >= limit]
            for key, line in overdue:
                del self._out[key]
                _shut_down(line)
        return len(overdue)

    def _take(self, connection: Any, record: object, _proxy: object) -> None:
        with self._lock:
            self._out[id(record)] = connection, time.monotonic()

    def _return(self, connection: Any, record: object) -> None:
        with self._lock:
            self._out.pop(id(record), None)
        if connection is not None and not connection.closed:
            self._answer_time = time.monotonic()


def _shut_down(connection: Any) -> None:
    """Shut the connection down from another thread; the thread that waits then reads its end."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
