"""A limit on failed logins: a few a minute for each name and for each address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import ceil

MAX_FAILURES = 5  #: within WINDOW_SECONDS, of one name or address
WINDOW_SECONDS = 60.0
MAX_KEPT = 10_000  #: names and addresses


class LoginAttempts:
    """Recent failed logins. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._failures: dict[str, list[float]] = {}

    def seconds_to_wait(self, *keys: str) -> int:
        """Return the seconds until the next login is allowed for all of the keys; 0 if it is allowed now."""
        with self._lock:
            return max((ceil(self._wait(key)) for key in keys), default=0)

    def note_failure(self, *keys: str) -> None:
        with self._lock:
            for key in keys:
                times = [*self._recent(key), self._clock()]
                self._failures.pop(key, None)
                while len(self._failures) >= MAX_KEPT:
                    del self._failures[next(iter(self._failures))]
                self._failures[key] = times

    def forget(self, key: str) -> None:
        """Remove the failures of a key, after a successful login."""
        with self._lock:
            self._failures.pop(key, None)

    def _wait(self, key: str) -> float:
        times = self._recent(key)
        return max(0.0, times[-MAX_FAILURES] + WINDOW_SECONDS - self._clock()) if len(times) >= MAX_FAILURES else 0.0

    def _recent(self, key: str) -> list[float]:
        after = self._clock() - WINDOW_SECONDS
        return [timestamp for timestamp in self._failures.get(key, ()) if timestamp > after]
