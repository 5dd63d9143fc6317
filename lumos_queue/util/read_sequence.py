"""Sequences whose elements are read when they are needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T", covariant=True)


class ReadSequence(Sequence[T]):
    """A sequence that reads its elements by `read_between`; iteration and indexing derive from it."""

    @abstractmethod
    def read_between(self, first: int, last: int) -> Iterator[T]:
        """Yield the elements with the indices first, ..., last - 1, which exist."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step == 1:
                return list(self.read_between(first, last))
            return [self[number] for number in range(first, last, step)]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        return next(self.read_between(number, number + 1))

    def __iter__(self) -> Iterator[T]:
        return self.read_between(0, len(self))
