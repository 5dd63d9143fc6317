"""Results that take long, such as reports: each is computed once for all who request it, and kept for a while.

Two threads compute. People take turns, and a person has a few results waiting. No thread of the server waits for a
result, and the two threads use at most two connections.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request

from db.queries.changes import Change
from lumos_queue.util.wording import format_rough_seconds
from lumos_queue.web.disconnects import await_result
from lumos_queue.web.errors import Busy
from lumos_queue.web.fair_queue import FairQueue
from lumos_queue.web.result_cache import ResultCache, StoredResult

THREADS = 2
MAX_WAITING = 4  #: results of a person that wait, beside those that are being computed
MAX_BYTES = 64 * 2**20  #: of all results that are kept
#: A result of an open job is served for this many times the seconds that it took, and at least for MIN_SECONDS.
AGE_FACTOR, MIN_SECONDS = 10, 5.0
#: An unchanged result is served for at most this long, because parts of it (figures of papers) belong to no job.
MAX_SECONDS = 600.0
STOP_SECONDS = 1.0
Compute = Callable[[], tuple[Change, Any]]  #: returns the last change that the data contains, and the result


@dataclass(frozen=True, slots=True)
class SharedResult:
    """A result for a page. `value` makes a new copy, which takes a moment if it is large."""

    stored: StoredResult
    age_seconds: float  #: since the data was read; 0 if nothing has changed since, as nothing runs

    @property
    def value(self) -> Any:
        return self.stored.value

    @property
    def age(self) -> str:
        """Return the age as text for the page; '' for a result that was just read or has not changed."""
        return format_rough_seconds(self.age_seconds) if round(self.age_seconds) >= 1 else ""


@dataclass(eq=False, slots=True)
class _Task:
    """A result that somebody waits for."""

    key: Hashable
    change: Change
    compute: Compute
    future: Future[StoredResult] = field(default_factory=Future)
    requests: Counter[str] = field(default_factory=Counter)  #: that wait for it, by person
    is_running: bool = False


class SharedResults:
    """The results of one explorer. May be used from any thread; `find` from an event loop."""

    def __init__(self, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic):
        self._condition = threading.Condition()
        self._cache = ResultCache(max_bytes)
        self._clock = clock
        self._tasks: dict[Hashable, _Task] = {}  # the newest of each key
        self._queue = FairQueue[_Task]()
        self._threads: list[threading.Thread] = []
        self._running = 0  # tasks that are being computed
        self._is_stopped = False

    async def find(
        self, request: Request, person: str, key: Hashable, change: Change, compute: Compute
    ) -> SharedResult:
        """Return the result that the key describes, after the change that the subject has now.

        Raises Busy if too many results of the person wait, ClientGone if the connection is closed meanwhile, and the
        errors of `compute`, which runs in a thread.
        """
        with self._condition:
            if (stored := self._cache.find(key)) and self._is_current(stored, change):
                return self._share(stored, change)
            task = self._join(person, key, change, compute)
        try:
            return self._share(await await_result(request, task.future), change)
        finally:
            self._leave(person, task)

    def stop(self) -> None:
        """Compute nothing more, because the server ends. The threads only read: they are awaited for STOP_SECONDS."""
        with self._condition:
            self._is_stopped = True
            self._queue.clear()
            self._condition.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join(STOP_SECONDS / THREADS)

    def _is_current(self, stored: StoredResult, change: Change) -> bool:
        age = self._clock() - stored.read_at
        if change.is_open and age < max(MIN_SECONDS, AGE_FACTOR * stored.seconds):
            return True
        return bool(change.mark) and change.mark == stored.change.mark and age < MAX_SECONDS

    def _share(self, stored: StoredResult, change: Change) -> SharedResult:
        return SharedResult(stored, self._clock() - stored.read_at if change.is_open else 0.0)

    def _join(self, person: str, key: Hashable, change: Change, compute: Compute) -> _Task:
        """Return the task for the key, which is new unless it is waiting, or running with data that is new enough."""
        task = self._tasks.get(key)
        if task is None or (task.is_running and not change.is_open and task.change != change):
            task = _Task(key, change, compute)
            task.future.set_running_or_notify_cancel()  # one of several waiting clients cannot cancel it
        if not task.is_running and not task.requests[person]:
            if self._queue.count(person) >= MAX_WAITING + THREADS - self._running:  # idle threads take tasks soon
                raise Busy(
                    f"{MAX_WAITING} reports or lists that you requested are waiting to be computed: wait until they "
                    "are displayed, or close their pages, and load this page again."
                )
            self._queue.add(person, task)
            self._start_thread()
            self._condition.notify()
        self._tasks[key] = task
        task.requests[person] += 1
        return task

    def _leave(self, person: str, task: _Task) -> None:
        """Forget a request. A result that nobody waits for is not computed, unless it is being computed already."""
        with self._condition:
            task.requests[person] -= 1
            if task.is_running or task.requests[person]:
                return
            self._queue.remove(person, task)
            if not task.requests.total() and self._tasks.get(task.key) is task:
                del self._tasks[task.key]

    def _start_thread(self) -> None:
        if len(self._threads) < THREADS and not self._is_stopped:
            thread = threading.Thread(target=self._compute_on, name="shared results", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _compute_on(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._is_stopped:
                    self._condition.wait()
                if self._is_stopped:
                    return
                task = self._queue.take()
                task.is_running = True
                self._running += 1
            self._carry_out(task)

    def _carry_out(self, task: _Task) -> None:
        start, stored, problem = self._clock(), None, None
        try:
            change, value = task.compute()
            stored = StoredResult(pickle.dumps(value), change, start, self._clock() - start)
        except Exception as error:
            problem = error
        with self._condition:
            self._running -= 1
            if stored:
                self._cache.add(task.key, stored)
            if self._tasks.get(task.key) is task:
                del self._tasks[task.key]
        if stored:
            task.future.set_result(stored)
        else:
            task.future.set_exception(problem)
