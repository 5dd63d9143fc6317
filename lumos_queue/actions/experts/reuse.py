"""An expert is run once on the same input: what equal runs gave before answers, of this process or of the database.

A run is named by its call's digest: the expert, its backend's digest and the digests of its inputs. Runs under way are
waited for. Only runs without a problem are used again: a process that ran out of memory may have it the next time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from lumos_queue.experts.problems import Problem

Results = Sequence[bytes | Problem]  #: one for each sample
MAX_BYTES = 64 << 20  #: of results that are kept in memory
RECORDED = "recorded"  #: the provenance of a result that an equal run gave before


class ReusedRuns:
    """Results by the digest of their call. Belongs to one event loop."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[tuple[Results, str]]] = {}
        self._kept: OrderedDict[str, Results] = OrderedDict()
        self._bytes = 0

    async def find_or_run(self, key: str, run: Callable[[], Awaitable[tuple[Results, str]]]) -> tuple[Results, str]:
        """The results of the call with this digest, and their provenance. `run` looks elsewhere, or runs the expert."""
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept, RECORDED
        first = self._running.get(key)
        if first is not None:
            results, _ = await asyncio.shield(first)
            return results, RECORDED
        task = self._running[key] = asyncio.ensure_future(run())
        task.add_done_callback(lambda done: self._settle(key, done))
        return await asyncio.shield(task)  # an episode that is cancelled does not end it for the others

    async def close(self) -> None:
        """Stop what is under way."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._kept.clear()
        self._bytes = 0

    def _settle(self, key: str, done: asyncio.Task[tuple[Results, str]]) -> None:
        self._running.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        results, _ = done.result()
        if any(isinstance(one, Problem) for one in results):
            return
        self._kept[key] = results
        self._bytes += _size(results)
        while self._bytes > MAX_BYTES and self._kept:
            self._bytes -= _size(self._kept.popitem(last=False)[1])


def _size(results: Results) -> int:
    return sum(len(one) for one in results if isinstance(one, bytes))
