"""Limit requests for each host: one at a time, and none during a pause that the host requests.

Wikipedia's operators require this (API etiquette: send requests in series, heed Retry-After).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from lumos_queue.errors import InfrastructureError
from lumos_queue.util.retry_after import read_retry_after

PAUSE = 0.05  #: seconds between the end of a request and the next one to the same host
MAX_WAIT = 10.0  #: seconds for which a request waits for the end of a host's pause; after longer pauses it is retried
DEFAULT_PAUSE = 5.0  #: seconds of a pause for which the host requests no duration


@dataclass(slots=True)
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0  #: by the monotonic clock


class HostRateLimiter:
    """Makes requests to the same host wait for each other and for the host's pauses. It belongs to one event loop."""

    def __init__(self, pause: float = PAUSE):
        self._pause = pause
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncGenerator[None, None]:
        """Wait until a request may be sent. Other requests to the host then wait until the context ends.

        Raises InfrastructureError if the host's pause lasts longer than MAX_WAIT.
        """
        state = self._hosts.setdefault(host, _Host())
        async with state.lock:
            wait = state.free_at - time.monotonic()
            if wait > MAX_WAIT:
                raise InfrastructureError(f"{host} asked for a pause", wait)
            if wait > 0:
                await asyncio.sleep(wait)
            try:
                yield
            finally:
                state.free_at = max(state.free_at, time.monotonic() + self._pause)

    def pause(self, host: str, retry_after: str) -> float:
        """Begin the pause that a host's Retry-After header requests, and return its seconds."""
        requested_seconds = read_retry_after(retry_after)
        seconds = DEFAULT_PAUSE if requested_seconds is None else requested_seconds
        self._hosts.setdefault(host, _Host()).free_at = time.monotonic() + seconds
        return seconds
