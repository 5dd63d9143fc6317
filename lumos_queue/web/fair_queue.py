"""A queue in which people take turns, so that nobody waits for all the work of another person."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items that wait, each for one person or for several. Its owner locks it."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[T]] = {}  # without empty ones; the first person's turn is next

    def __bool__(self) -> bool:
        return bool(self._queues)

    def count(self, person: str) -> int:
        """Return the number of items that wait for the person."""
        return len(self._queues.get(person, ()))

    def add(self, person: str, item: T) -> None:
        self._queues.setdefault(person, deque()).append(item)

    def take(self) -> T:
        """Return the item whose turn it is, which then waits for nobody. The queue is not empty."""
        person, queue = next(iter(self._queues.items()))
        item = queue[0]
        self._queues[person] = self._queues.pop(person)  # the person's next turn is after all others
        for name in list(self._queues):
            self.remove(name, item)
        return item

    def remove(self, person: str, item: T) -> None:
        """Remove the item from those that wait for the person, if it is among them."""
        if queue := self._queues.get(person):
            remaining = deque(other_item for other_item in queue if other_item is not item)
            if remaining:
                self._queues[person] = remaining
            else:
                del self._queues[person]

    def clear(self) -> None:
        self._queues.clear()
