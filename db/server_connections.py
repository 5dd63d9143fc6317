"""The connections to a PostgreSQL server that are in use, and when it answered last: to notice that it is silent.

A network that drops everything is silent for hours, and the driver waits for as long. So a thread that needs no
database looks at the clock (workers/watchdog.py) and cuts what has waited too long; the driver then says that the
connection was lost.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from sqlalchemy import Engine, event

SLOW = 10  #: one connection may be out so many times longer than all of them may be silent


class ServerConnections:
    """The connections of one engine that are out of its pool."""

    def __init__(self, engine: Engine):
        self._heard_at = time.monotonic()
        self._out: dict[int, tuple[Any, float]] = {}  # by id of the pool's record: driver's connection, since when
        self._lock = threading.Lock()
        event.listen(engine, "checkout", self._take)
        event.listen(engine, "checkin", self._return)

    @property
    def heard_at(self) -> float:
        """When a connection last came back in good order (time.monotonic)."""
        return self._heard_at

    def silent_seconds(self) -> float:
        """For how long connections have been waiting while none was answered; 0.0 when none waits."""
        with self._lock:
            since = min((at for _, at in self._out.values()), default=None)
        return 0.0 if since is None else time.monotonic() - max(since, self._heard_at)

    def cut(self, seconds: float) -> int:
        """Cut connections that wait for a server that has been silent for so long; returns how many.

        While the server answers others, one that takes long is slow, and is cut only after SLOW times as long.
        """
        now = time.monotonic()
        allowed = seconds if self.silent_seconds() >= seconds else SLOW * seconds
        with self._lock:
            overdue = [(key, line) for key, (line, since) in self._out.items() if now - since >= allowed]
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
            self._heard_at = time.monotonic()


def _shut_down(connection: Any) -> None:
    """From another thread than the one that waits, which then reads the end."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
