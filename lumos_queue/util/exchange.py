"""A generator that is sent replies, as a `for` loop."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

Wanted = TypeVar("Wanted")
Reply = TypeVar("Reply")
Returned = TypeVar("Returned")


class Exchange(Generic[Wanted, Reply, Returned]):
    """Iterates over what a generator yields; `reply` is sent to it before it yields again, None before anything else.
    An `error` that is set is raised in it instead, once.

    When the loop has ended, `returned` is what the generator returned. A loop that is left early closes the generator.
    """

    returned: Returned

    def __init__(self, generator: Generator[Wanted, Reply | None, Returned]):
        self._generator = generator
        self.reply: Reply | None = None
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[Wanted]:
        try:
            while True:
                error, self.error = self.error, None
                yield self._generator.throw(error) if error else self._generator.send(self.reply)
        except StopIteration as stop:
            self.returned = stop.value
        finally:
            self._generator.close()
