"""Downloads: files that are read and sent in chunks, at a limited rate for each person.

A chunk is read in its own transaction, which ends before the chunk is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

BYTES_PER_SECOND = 2 * 2**20  #: of all downloads of a person together
MAX_READING = 2  #: chunks of all people that are read at once


@dataclass(slots=True)
class _Pace:
    """The downloads of one person, of which one reads at a time."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_at: float = 0.0  #: when the next chunk may be read


class Downloads:
    """The downloads of one explorer, for its event loop."""

    def __init__(
        self,
        bytes_per_second: float = BYTES_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ):
        self._bytes_per_second, self._clock, self._sleep = bytes_per_second, clock, sleep
        self._paces: dict[str, _Pace] = {}  # by person
        self._reading = asyncio.Semaphore(MAX_READING)

    async def stream(
        self, person: str, is_permitted: Callable[[], bool], chunks: Iterator[str]
    ) -> AsyncIterator[bytes]:
        """Yield the chunks, as long as the person is permitted to read them. `chunks` runs in threads."""
        pace = self._paces.setdefault(person, _Pace())
        while is_permitted():
            async with pace.lock:
                await self._sleep(max(0.0, pace.next_at - self._clock()))
                async with self._reading:
                    text = await run_in_threadpool(next, chunks, None)
                if text is None:
                    return
                chunk = text.encode()
                pace.next_at = max(self._clock(), pace.next_at) + len(chunk) / self._bytes_per_second
            yield chunk
