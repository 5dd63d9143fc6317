"""A cache of results as pickled data, so that its size is exact and nobody changes a result of another page."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from db.queries.changes import Change

ENTRY_BYTES = 1_000  #: of an entry beside its key and its data, such as objects of the interpreter


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The result of a computation."""

    data: bytes  #: pickled
    change: Change  #: the last change of its subject when it was read
    read_at: float  #: by the clock of the cache's owner, in seconds
    seconds: float  #: that the computation took

    @property
    def value(self) -> Any:
        """Return a new copy of the result."""
        return pickle.loads(self.data)


class ResultCache:
    """The results used last. Its owner locks it."""

    def __init__(self, max_bytes: int):
        """`max_bytes`: of all keys and results, with ENTRY_BYTES for each."""
        self._max_bytes = max_bytes
        self._results: OrderedDict[Hashable, StoredResult] = OrderedDict()  # the one used last is at the end
        self.bytes = 0

    def find(self, key: Hashable) -> StoredResult | None:
        if key in self._results:
            self._results.move_to_end(key)
        return self._results.get(key)

    def add(self, key: Hashable, result: StoredResult) -> None:
        """Store a result, in place of an earlier one with this key. Those not used for longest are removed."""
        self._remove(key)
        self._results[key] = result
        self.bytes += _measure(key, result)
        while self.bytes > self._max_bytes:
            self._remove(next(iter(self._results)))

    def _remove(self, key: Hashable) -> None:
        if (result := self._results.pop(key, None)) is not None:
            self.bytes -= _measure(key, result)


def _measure(key: Hashable, result: StoredResult) -> int:
    return len(pickle.dumps((key, result.change))) + len(result.data) + ENTRY_BYTES
