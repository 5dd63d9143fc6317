"""Limit the memory of all loaded experts: the sum of the memory limits of their processes is at most a cap.

The kernel enforces the limit of each process. A caller that needs memory ends idle processes, least recently used
first. If busy processes fill the cap, the caller waits for its turn.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Protocol

PATIENCE = 5.0  #: seconds that a caller waits before loaded experts must queue behind it


class LoadedProcess(Protocol):
    memory: int  #: bytes

    def end(self) -> object: ...


class MemoryBudget:
    """The memory budget of all experts. The thread of each expert calls `acquire` and `release`."""

    def __init__(self, cap: int):
        self.cap = cap  #: bytes
        self._condition = threading.Condition()
        self._processes: OrderedDict[LoadedProcess, None] = OrderedDict()  #: least recently used first
        self._busy: set[LoadedProcess] = set()
        self._queue: deque[tuple[float, LoadedProcess]] = deque()  #: start of the wait (time.monotonic()), process

    def acquire(self, process: LoadedProcess) -> None:
        """Wait for memory for a process, end idle processes if necessary, and mark the process as busy."""
        with self._condition:
            if process not in self._processes or self._someone_is_due():
                self._wait_for_room(process)
            self._processes[process] = None
            self._processes.move_to_end(process)
            self._busy.add(process)

    def release(self, process: LoadedProcess) -> None:
        """Mark a process as idle. An idle process is ended when another process needs its memory."""
        with self._condition:
            self._busy.discard(process)
            self._condition.notify_all()

    def forget(self, process: LoadedProcess) -> None:
        """Remove a process that has ended from the budget."""
        with self._condition:
            self._busy.discard(process)
            self._processes.pop(process, None)
            self._condition.notify_all()

    def _someone_is_due(self) -> bool:
        return bool(self._queue) and time.monotonic() - self._queue[0][0] > PATIENCE

    def _wait_for_room(self, process: LoadedProcess) -> None:
        ticket = (time.monotonic(), process)
        self._queue.append(ticket)
        try:
            while self._queue[0] is not ticket or not self._make_room(process):
                self._condition.wait()
        finally:
            self._queue.remove(ticket)
            self._condition.notify_all()

    def _make_room(self, process: LoadedProcess) -> bool:
        """End idle processes, least recently used first, until `process` fits; False if busy processes fill the cap."""
        if process in self._processes:
            return True
        busy = sum(busy_process.memory for busy_process in self._busy)
        if busy + process.memory > self.cap:
            return False
        while sum(candidate.memory for candidate in self._processes) + process.memory > self.cap:
            idle = next(candidate for candidate in self._processes if candidate not in self._busy)
            idle.end()
            del self._processes[idle]
        return True
