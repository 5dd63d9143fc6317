"""A variable that has a separate value in each process, which is made at its first use."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that a forked process never inherits, because neither connections nor threads survive a fork."""

    def __init__(self, make: Callable[[], T]):
        self._make = make
        self._owner: int | None = None  # id of the process that made the value
        self._value: T | None = None

    def get(self) -> T:
        """Return this process's value."""
        value = self._value
        if value is None or self._owner != os.getpid():
            value = self._make()
            self._owner, self._value = os.getpid(), value
        return value

    def take(self) -> T | None:
        """Forget this process's value and return it, so that the caller can close it; None if there is none."""
        if self._owner != os.getpid():
            return None
        value, self._value = self._value, None
        return value
