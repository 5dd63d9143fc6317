"""Run an expert only once on the same input: reuse the results of equal runs in this process or in the database.

The key of a run is the digest of its call: the expert, its backend's digest and the digests of its inputs. If an equal
run is active, its results are awaited. Results with a problem are not reused, because the next run may succeed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from lumos_queue.experts.problems import Problem

Results = Sequence[bytes | Problem]  #: one for each sample
MAX_BYTES = 64 << 20  #: of results in memory
LIVE = "live"  #: the provenance of a run that was made
RECORDED = "recorded"  #: the provenance of a result of an equal earlier run


class ReusedRuns:
    """Caches the results of runs by the digests of their calls. Only one event loop may use it."""

    def __init__(self) -> None:
        self._active_runs: dict[str, asyncio.Task[tuple[Results, str]]] = {}
        self._leaders: dict[str, asyncio.Event] = {}  #: set when the run of an episode has ended
        self._cache: OrderedDict[str, Results] = OrderedDict()
        self._bytes = 0

    async def find_or_run(self, key: str, run: Callable[[], Awaitable[tuple[Results, str]]]) -> tuple[Results, str]:
        """Return a call's results and their provenance. `run` searches the database, or runs the expert.

        `key`: the digest of the call.
        """
        if (cached_results := self._cache.get(key)) is not None:
            self._cache.move_to_end(key)
            return cached_results, RECORDED
        first = self._active_runs.get(key)
        if first is not None:
            results, _ = await asyncio.shield(first)
            return results, RECORDED
        task = self._active_runs[key] = asyncio.ensure_future(run())
        task.add_done_callback(lambda future: self._settle(key, future))
        return await asyncio.shield(task)  # an episode that is cancelled does not end it for the others

    async def find_or_lead(self, key: str, run: Callable[[], Awaitable[Results]]) -> tuple[Results, str]:
        """Return a call's results and their provenance, as `find_or_run`, for a `run` that records steps in an episode.

        Such a run belongs to its episode, and ends with it: then an episode that waits for its results runs itself.
        """
        while (cached_results := self._cache.get(key)) is None:
            leader = self._leaders.get(key)
            if leader is not None:
                await leader.wait()
                continue
            leader = self._leaders[key] = asyncio.Event()
            try:
                results = await run()
                self._remember(key, results)
                return results, LIVE
            finally:
                del self._leaders[key]
                leader.set()
        self._cache.move_to_end(key)
        return cached_results, RECORDED

    async def close(self) -> None:
        """Cancel active runs."""
        active_runs = list(self._active_runs.values())
        for task in active_runs:
            task.cancel()
        await asyncio.gather(*active_runs, return_exceptions=True)
        self._cache.clear()
        self._bytes = 0

    def _settle(self, key: str, task: asyncio.Task[tuple[Results, str]]) -> None:
        self._active_runs.pop(key, None)
        if task.cancelled() or task.exception() is not None:
            return
        self._remember(key, task.result()[0])

    def _remember(self, key: str, results: Results) -> None:
        if any(isinstance(output, Problem) for output in results):
            return
        self._cache[key] = results
        self._bytes += _size(results)
        while self._bytes > MAX_BYTES and self._cache:
            self._bytes -= _size(self._cache.popitem(last=False)[1])


def _size(results: Results) -> int:
    return sum(len(output) for output in results if isinstance(output, bytes))
