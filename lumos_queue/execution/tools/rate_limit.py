"""Being a polite guest: one request at a time for each host, and none while it asks for a pause.

So ask the operators of Wikipedia (API etiquette: requests in series, heed Retry-After).
"""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from lumos_queue.errors import InfrastructureError

PAUSE = 0.05  #: seconds between the end of a request and the next one to the same host
LONGEST_WAIT = 10.0  #: seconds a request waits here for a host's pause to end; beyond that its item is owed again
DEFAULT_WAIT = 5.0  #: seconds, when a host asks for a pause and does not say for how long
MOST_WAIT = 3600.0  #: seconds; what a host asks for beyond that is not believed


@dataclass(slots=True)
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0  #: by the monotonic clock


class HostRateLimiter:
    """Turns and pauses of all hosts. Belongs to one event loop."""

    def __init__(self, pause: float = PAUSE):
        self._pause = pause
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Waits until it is this request's turn. Raises InfrastructureError while the host wants a long pause."""
        state = self._hosts.setdefault(host, _Host())
        async with state.lock:
            wait = state.free_at - time.monotonic()
            if wait > LONGEST_WAIT:
                raise InfrastructureError(f"{host} asked for a pause", wait)
            if wait > 0:
                await asyncio.sleep(wait)
            try:
                yield
            finally:
                state.free_at = max(state.free_at, time.monotonic() + self._pause)

    def wait(self, host: str, retry_after: str) -> float:
        """Keep a pause that the host asked for: seconds, or a date (RFC 9110, 10.2.3). Returns the seconds."""
        seconds = DEFAULT_WAIT
        if retry_after.strip().isdecimal():
            seconds = float(retry_after)
        elif retry_after:
            with suppress(ValueError, OverflowError):
                seconds = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        seconds = min(max(seconds, 0.0), MOST_WAIT)
        self._hosts.setdefault(host, _Host()).free_at = time.monotonic() + seconds
        return seconds
