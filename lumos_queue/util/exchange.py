"""Iterate over a generator that needs replies with a `for` loop."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Generic, TypeVar

Wanted = TypeVar("Wanted")
Reply = TypeVar("Reply")
Returned = TypeVar("Returned")


class Exchange(Generic[Wanted, Reply, Returned]):
    """Iterates over the values that a generator yields. The loop's body sets `reply`, which is sent to the generator
    for its next value. If the body sets `error`, this error is raised in the generator instead, once.

    After the loop, `returned` is the return value of the generator. Leaving the loop early closes the generator.
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
