"""The connections to a PostgreSQL server that are in use, and the time of its last answer, to notice its silence.

If a network drops everything, the driver may wait for hours. So a thread that needs no database watches the clock
(workers/watchdog.py), and closes connections that have waited too long. The driver then reports that the connection was
lost.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Protocol

from sqlalchemy import Engine, event

SLOW = 10  #: a single connection may wait this many times longer than all connections together


class SocketConnection(Protocol):
    """A driver's connection to a server, over a socket."""

    @property
    def closed(self) -> bool: ...

    def fileno(self) -> int: ...


class ServerConnections:
    """The connections of one engine that are in use, and so are not in the engine's pool."""

    def __init__(self, engine: Engine):
        self._answer_time = time.monotonic()
        self._out: dict[
            int, tuple[SocketConnection, float]
        ] = {}  # by id of the pool's record: driver's connection, since when
        self._lock = threading.Lock()
        event.listen(engine, "checkout", self._take)
        event.listen(engine, "checkin", self._return)

    @property
    def heard_at(self) -> float:
        """The time (time.monotonic) at which a connection was last returned intact."""
        return self._answer_time

    def silent_seconds(self) -> float:
        """Return for how long connections are in use and the server has answered none; 0.0 if none is in use."""
        with self._lock:
            since = min((timestamp for _, timestamp in self._out.values()), default=None)
        return 0.0 if since is None else time.monotonic() - max(since, self._answer_time)

    def close_silent(self, seconds: float) -> int:
        """Close the connections that wait for a server that has been silent for `seconds`; return their number.

        While the server answers on other connections, a waiting connection is only slow: it is closed after SLOW times
        that long.
        """
        now = time.monotonic()
        limit = seconds if self.silent_seconds() >= seconds else SLOW * seconds
        with self._lock:
            overdue = [(key, line) for key, (line, since) in self._out.items() if now - since >= limit]
            for key, line in overdue:
                del self._out[key]
                _shut_down(line)
        return len(overdue)

    def _take(self, connection: SocketConnection, record: object, _proxy: object) -> None:
        with self._lock:
            self._out[id(record)] = connection, time.monotonic()

    def _return(self, connection: SocketConnection | None, record: object) -> None:
        with self._lock:
            self._out.pop(id(record), None)
        if connection is not None and not connection.closed:
            self._answer_time = time.monotonic()


def _shut_down(connection: SocketConnection) -> None:
    """Shut the connection down from another thread. The thread that waits on it then gets an error."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
