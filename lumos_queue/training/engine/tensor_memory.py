"""Count the bytes of the tensors that are alive at the same time, real ones or fake ones."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class TensorMemory(TorchDispatchMode):
    """Counts the tensors that operations make inside `with`; tensors that share a storage count once.

    `now` is the number of bytes that are alive, `peak` the largest number so far. Memory that the libraries use within
    one operation is not counted.
    """

    def __init__(self, existing: Iterable[torch.Tensor] = ()):
        """Leave out the `existing` tensors, which operations may change in place."""
        super().__init__()
        self.now = self.peak = 0
        self._sizes: dict[int, int] = {tensor.untyped_storage()._cdata: 0 for tensor in existing}

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation and count the storages of its results that are new."""
        output = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(output):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return output

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._sizes:
            return
        self._sizes[key] = size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._remove, key)

    def _remove(self, key: int) -> None:
        self.now -= self._sizes.pop(key)
