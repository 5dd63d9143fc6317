"""Work that a page starts, such as running the actions of an annotation or drawing an audit.

It has its own threads, a limit of time, and places: one for each person, and a few in all. It ends with its page's
connection.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request

from lumos_queue.errors import SpecError
from lumos_queue.util.wording import format_limit
from lumos_queue.web.disconnects import await_result
from lumos_queue.web.errors import Busy, ClientGone

T = TypeVar("T")
MAX_RUNNING = 2
MAX_SECONDS = 60.0  #: by the wall clock


class Budget:
    """Runs the coroutine of one piece of work within a limit of time; it can be stopped from any thread."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result.

        Raises SpecError if it takes too long, and ClientGone if it was stopped. The coroutine is cancelled first, so
        that it ends its helper processes.
        """
        try:
            return asyncio.run(self._run(coroutine))
        except TimeoutError:
            raise SpecError(
                f"The actions take longer than {format_limit(self._seconds)}, which a page may take."
            ) from None
        except asyncio.CancelledError:
            raise ClientGone from None

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._loop is not None and self._task is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._task.cancel)

    async def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._is_stopped:
                coroutine.close()
                raise ClientGone
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            async with asyncio.timeout(self._seconds):
                return await coroutine
        finally:
            with self._lock:
                self._task = None


class PageWork:
    """The work of all pages of one explorer."""

    def __init__(self, seconds: float = MAX_SECONDS):
        """`seconds`: the limit for one piece of work."""
        self._seconds = seconds
        self._lock = threading.Lock()
        self._budgets: dict[str, Budget] = {}  # by person
        self._threads = ThreadPoolExecutor(MAX_RUNNING, thread_name_prefix="page work")

    async def run(self, request: Request, person: str, work: Callable[[Budget], T]) -> T:
        """Return the result of `work`, which gets its budget, from a thread.

        Raises Busy if the person's work is running, or MAX_RUNNING pieces of work are, and ClientGone if the page's
        connection is closed, which stops the work.
        """
        budget = self._begin(person)
        try:
            future = self._threads.submit(work, budget)
        except RuntimeError:  # the explorer ends
            self._end(person)
            raise ClientGone from None
        future.add_done_callback(lambda _: self._end(person))
        try:
            return await await_result(request, future)
        finally:
            budget.stop()  # stops nothing if the work has ended

    def stop(self) -> None:
        """Stop all work, because the server ends."""
        with self._lock:
            budgets = list(self._budgets.values())
        for budget in budgets:
            budget.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, person: str) -> Budget:
        with self._lock:
            if person in self._budgets:
                raise Busy("Work that you started is still running: wait until it has ended.")
            if len(self._budgets) >= MAX_RUNNING:
                raise Busy(f"Work of {MAX_RUNNING} other people is running: try again soon.")
            budget = self._budgets[person] = Budget(self._seconds)
            return budget

    def _end(self, person: str) -> None:
        with self._lock:
            self._budgets.pop(person, None)
