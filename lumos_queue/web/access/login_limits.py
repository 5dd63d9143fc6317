"""A limit on failed logins: a few a minute for each name from each address, and more for each address.

A browser that has logged in under a name has its own count, so that failures elsewhere never lock its person out.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

MAX_FAILURES = 5  #: within WINDOW_SECONDS, of one name from one address, or of a known browser
MAX_FAILURES_OF_ADDRESS = 30  #: within WINDOW_SECONDS, of all names from one address
WINDOW_SECONDS = 60.0
MAX_KEPT = 10_000  #: counts


class TooManyFailures(Exception):
    """Raised for a login that is not checked, because too many have failed."""

    def __init__(self, seconds: int):
        """`seconds`: after which the next login is allowed."""
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that counts as failed until it has succeeded."""

    keys: tuple[str, ...]
    at: float


class LoginAttempts:
    """Recent failed logins. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._failures: dict[str, list[float]] = {}

    def begin(self, name: str, address: str, browser: str = "") -> Attempt:
        """Count a login as failed, before its password is checked, so that many at once are no more than the limit.

        `address`: the unit of limits (client_address.Client.group). `browser`: the id of a browser that has logged in
        under this name before; '' if it is unknown. Raises TooManyFailures.
        """
        limits = {f"name {name} from {address}": MAX_FAILURES, f"address {address}": MAX_FAILURES_OF_ADDRESS}
        if browser:
            limits = {f"browser {browser}": MAX_FAILURES}
        with self._lock:
            if seconds := max(ceil(self._wait(key, count)) for key, count in limits.items()):
                raise TooManyFailures(seconds)
            attempt = Attempt(tuple(limits), self._clock())
            for key in attempt.keys:
                times = [*self._recent(key), attempt.at]
                self._failures.pop(key, None)
                while len(self._failures) >= MAX_KEPT:
                    del self._failures[next(iter(self._failures))]
                self._failures[key] = times
            return attempt

    def succeed(self, attempt: Attempt) -> None:
        """Forget the attempt, and earlier failures of the same name from the same address or in the same browser."""
        self.withdraw(attempt)
        with self._lock:
            self._failures.pop(attempt.keys[0], None)

    def withdraw(self, attempt: Attempt) -> None:
        """Forget an attempt whose password was right or was not checked."""
        with self._lock:
            for key in attempt.keys:
                times = self._failures.get(key, [])
                if attempt.at in times:
                    times.remove(attempt.at)

    def _wait(self, key: str, count: int) -> float:
        times = self._recent(key)
        return max(0.0, times[-count] + WINDOW_SECONDS - self._clock()) if len(times) >= count else 0.0

    def _recent(self, key: str) -> Sequence[float]:
        after = self._clock() - WINDOW_SECONDS
        return [timestamp for timestamp in self._failures.get(key, ()) if timestamp > after]


class KnownBrowsers:
    """Signs the cookies of browsers that have logged in, `ID.SIGNATURE`. A restart makes all browsers unknown."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def make_cookie(self, person: str) -> str:
        """Return a cookie for a browser in which the person has logged in."""
        browser = secrets.token_hex(16)
        return f"{browser}.{self._sign(browser, person)}"

    def find(self, cookie: str, person: str) -> str:
        """Return the id of the browser, if the person has logged in with it before; '' otherwise."""
        browser, _, signature = cookie.partition(".")
        is_valid = hmac.compare_digest(signature.encode(), self._sign(browser, person).encode())
        return browser if is_valid else ""

    def _sign(self, browser: str, person: str) -> str:
        return hmac.new(self._key, f"{browser}\0{person}".encode(), hashlib.sha256).hexdigest()
