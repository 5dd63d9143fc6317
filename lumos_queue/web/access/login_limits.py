"""How often a login may fail: a few times a minute for each name, and for each address that tries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import ceil

MAX_FAILURES = 5  #: within WINDOW_SECONDS, of one name or address
WINDOW_SECONDS = 60.0
MAX_KEPT = 10_000  #: names and addresses


class LoginAttempts:
    """Failed logins of late. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._failures: dict[str, list[float]] = {}

    def seconds_to_wait(self, *keys: str) -> int:
        """0 where another try is allowed."""
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
        """After a login that succeeded."""
        with self._lock:
            self._failures.pop(key, None)

    def _wait(self, key: str) -> float:
        times = self._recent(key)
        return max(0.0, times[-MAX_FAILURES] + WINDOW_SECONDS - self._clock()) if len(times) >= MAX_FAILURES else 0.0

    def _recent(self, key: str) -> list[float]:
        after = self._clock() - WINDOW_SECONDS
        return [timestamp for timestamp in self._failures.get(key, ()) if timestamp > after]
