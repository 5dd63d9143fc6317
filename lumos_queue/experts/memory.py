"""Which experts may be loaded at the same time: the sum of what their processes may write to stays below a cap.

Every process has a limit of its own, which the kernel keeps, so the sum of the limits bounds the memory. Who needs
room ends the process that was used least recently and is idle; when all are busy, it waits its turn.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Protocol

PATIENCE = 5.0  #: seconds that a caller waits until busy experts stop going on with their next call first


class Loaded(Protocol):
    memory: int  #: bytes

    def end(self) -> object: ...


class MemoryBudget:
    """Called from threads, one for each expert."""

    def __init__(self, cap: int):
        self.cap = cap  #: bytes
        self._changed = threading.Condition()
        self._held: OrderedDict[Loaded, None] = OrderedDict()  #: least recently used first
        self._busy: set[Loaded] = set()
        self._waiting: deque[tuple[float, Loaded]] = deque()  #: since when, who

    def acquire(self, one: Loaded) -> None:
        """Mark it busy once there is room for it. What must go is ended here."""
        with self._changed:
            if one not in self._held or self._someone_is_due():
                self._wait_for_room(one)
            self._held[one] = None
            self._held.move_to_end(one)
            self._busy.add(one)

    def release(self, one: Loaded) -> None:
        """It is idle, and may be ended when others need the room."""
        with self._changed:
            self._busy.discard(one)
            self._changed.notify_all()

    def forget(self, one: Loaded) -> None:
        """Its process is gone for good."""
        with self._changed:
            self._busy.discard(one)
            self._held.pop(one, None)
            self._changed.notify_all()

    def _someone_is_due(self) -> bool:
        return bool(self._waiting) and time.monotonic() - self._waiting[0][0] > PATIENCE

    def _wait_for_room(self, one: Loaded) -> None:
        ticket = (time.monotonic(), one)
        self._waiting.append(ticket)
        try:
            while self._waiting[0] is not ticket or not self._make_room(one):
                self._changed.wait()
        finally:
            self._waiting.remove(ticket)
            self._changed.notify_all()

    def _make_room(self, one: Loaded) -> bool:
        """End idle processes, least recently used first, until `one` fits; False when the busy ones fill the cap."""
        if one in self._held:
            return True
        busy = sum(other.memory for other in self._busy)
        if busy + one.memory > self.cap:
            return False
        while sum(other.memory for other in self._held) + one.memory > self.cap:
            idle = next(other for other in self._held if other not in self._busy)
            idle.end()
            del self._held[idle]
        return True
