"""Turns of requests: how many are answered at once for a person or an address, in turn, while their senders wait.

Without turns, requests whose connections have ended wait for the threads of the server, in any number.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable


class Turn:
    """The turn of one request, which waits, runs or has ended."""

    def __init__(self, holder: str, start: Callable[[], None]):
        """`holder`: the person or the address that it counts for. `start`: begins the answer."""
        self.holder, self.start = holder, start
        self.is_waiting = self.is_running = False


class Turns:
    """The turns of requests. Not for use from several threads."""

    def __init__(self, of_holder: int, in_all: int | None = None):
        """`of_holder`: turns of a holder at once; `in_all`: of all holders together, None: no limit."""
        self._of_holder, self._in_all = of_holder, in_all
        self._running = Counter[str]()
        self._queues: dict[str, deque[Turn]] = {}  # the holder whose turn is next comes first

    def take(self, turn: Turn) -> None:
        """Start the turn when its holder may have it, perhaps at once. End it with `end`."""
        turn.is_waiting = True
        self._queues.setdefault(turn.holder, deque()).append(turn)
        self._start_next()

    def end(self, turn: Turn) -> None:
        """End a turn that waits or runs."""
        if turn.is_waiting:
            self._queues[turn.holder].remove(turn)
            if not self._queues[turn.holder]:
                del self._queues[turn.holder]
        elif turn.is_running:
            self._running[turn.holder] -= 1
            if not self._running[turn.holder]:
                del self._running[turn.holder]
        turn.is_waiting = turn.is_running = False
        self._start_next()

    def _start_next(self) -> None:
        while self._in_all is None or self._running.total() < self._in_all:
            holder = next((name for name in self._queues if self._running[name] < self._of_holder), None)
            if holder is None:
                return
            queue = self._queues.pop(holder)
            turn = queue.popleft()
            if queue:
                self._queues[holder] = queue  # behind all others
            self._running[holder] += 1
            turn.is_waiting, turn.is_running = False, True
            turn.start()
