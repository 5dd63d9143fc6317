"""Store the keys and values of the rows of a batch, and write those of each new token in place.

transformers' DynamicCache copies all keys and values of a batch for each token, and rows cannot join or leave.
In this cache all rows end at the same position, so that a forward pass writes the next position of each row; a shorter
row begins later. A row that joins is written so that it ends there, too. When a row leaves, the last row moves to its
slot. New memory is allocated every ROOM tokens, when the positions are used up, and when a row joins without a free
slot.

The positions before a row's first token are zero. The mask excludes them from an attention's sum by a weight of 0, but
uninitialised memory may contain NaN, and 0 times NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

from lumos_queue.endpoints.prefixes import Layers

ROOM = 32  #: positions beyond those in use, on either side


@dataclass(slots=True)
class _Layout:
    """The size of the memory, and the part of it that a forward pass reads and writes."""

    rows: int = 0
    positions: int = 0
    first: int = 0  #: the first row
    last: int = 0  #: the row after the last
    start: int = 0  #: the first position
    end: int = 0  #: the position after the last
    unread: list[int] = field(default_factory=list[int])  #: how many positions the pass writes, at the end of each row


class _Layer(CacheLayerMixin):
    """The keys and values of one layer, each [row, head, position, channel]."""

    def __init__(self, layout: _Layout):
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # options without types
        self._layout = layout
        self.parts: list[torch.Tensor] = []

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.parts = [self._zeros(states) for states in (key_states, value_states)]
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.parts:
            self.lazy_initialization(key_states, value_states)
        layout = self._layout
        for part, states in zip(self.parts, (key_states, value_states), strict=True):
            if len(set(layout.unread)) == 1:
                part[layout.first : layout.last, :, layout.end - layout.unread[0] : layout.end] = states
                continue
            for row, size in enumerate(layout.unread):
                part[layout.first + row, :, layout.end - size : layout.end] = states[row, :, -size:]
        keys, values = (part[layout.first : layout.last, :, layout.start : layout.end] for part in self.parts)
        return keys, values

    def put(self, row: int, end: int, size: int, tensors: Sequence[torch.Tensor]) -> None:
        """Copy the first `size` positions of `tensors`, each [head, position, channel], to those before `end`."""
        if not self.parts:
            self.lazy_initialization(tensors[0][None], tensors[1][None])
        for part, tensor in zip(self.parts, tensors, strict=True):
            part[row, :, end - size : end] = tensor[:, :size]

    def clear(self, row: int) -> None:
        for part in self.parts:
            part[row] = 0

    def move(self, rows: int, start: int, end: int, to: int) -> None:
        """Copy positions `start` to `end` (exclusive) to new memory of the layout's size, so that they end at `to`."""
        new_parts = [self._zeros(part) for part in self.parts]
        for new, old in zip(new_parts, self.parts, strict=True):
            new[:rows, :, to - (end - start) : to] = old[:rows, :, start:end]
        self.parts = new_parts

    def fill(self, holes: list[int], movers: list[int], start: int) -> None:
        """Copy the rows `movers` into the rows `holes`, from position `start` on."""
        for part in self.parts:
            part[holes, :, start : self._layout.end] = part[movers, :, start : self._layout.end]

    def _zeros(self, like: torch.Tensor) -> torch.Tensor:
        return like.new_zeros(self._layout.rows, like.shape[1], self._layout.positions, like.shape[3])

    def get_seq_length(self) -> int:
        return self._layout.end - self._layout.start - max(self._layout.unread, default=0)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        return -1


class RowCache(Cache):
    """The cache of a batch: `join` rows or `advance` all, run the model on the unread tokens, then `keep` some rows."""

    def __init__(self) -> None:
        self._layout = _Layout()
        self._rows = 0
        self._start = 0  #: the first position of the longest row
        self._mask = torch.zeros(0, 0, dtype=torch.bool)  #: [row, position]: whether the row has a token there
        self._layers: list[_Layer] = []  #: those that the model has used: in some models layers share keys and values
        super().__init__(layers=[])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self._make_layers(layer_idx + 1)
        return super().update(  # pyright: ignore[reportUnknownMemberType]  # options without types
            key_states, value_states, layer_idx, *args, **kwargs
        )

    def join(self, prefixes: Sequence[tuple[int, Layers]], unread: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Add rows. The next pass reads `unread` tokens of each row, padded on the left to the largest number.

        `prefixes`: for each row, how many tokens are cached, and keys and values that begin with those of these tokens.
        Return the mask, and the positions of the tokens to be read, both for the new rows only.
        """
        first, width, layout = self._rows, max(unread), self._layout
        before = max(size + new for (size, _), new in zip(prefixes, unread, strict=True))
        rows = first + len(unread)
        if rows > layout.rows or before > layout.end:
            self._move(rows, before)
        for row, ((size, layers), new) in enumerate(zip(prefixes, unread, strict=True), first):
            for layer in self._layers:
                layer.clear(row)
            self._mask[row] = False
            self._mask[row, layout.end - new - size : layout.end] = True
            if size:
                self._make_layers(len(layers))
                for own_layer, layer in zip(self._layers, layers, strict=False):
                    own_layer.put(row, layout.end - new, size, layer)
        self._rows = rows
        layout.first, layout.last, layout.start, layout.unread = first, rows, layout.end - before, list(unread)
        self._start = min(self._start, layout.start)
        mask = self._mask[first:rows, layout.start : layout.end]
        return mask, (mask.cumsum(1) - 1).clamp(min=0)[:, -width:]

    def advance(self) -> torch.Tensor:
        """Prepare a pass that reads one token of each row. Return its mask."""
        if self._layout.end == self._layout.positions:
            self._move(self._rows, 0)
        layout = self._layout
        self._mask[: self._rows, layout.end] = True
        layout.end += 1
        layout.first, layout.last, layout.start, layout.unread = 0, self._rows, self._start, [1]
        return self._mask[: self._rows, layout.start : layout.end]

    def keep(self, retained_rows: Sequence[int]) -> list[int]:
        """Remove all rows but these. Return, for each row of the new order, its earlier index."""
        order = list(range(len(retained_rows)))
        holes = sorted(set(order).difference(retained_rows))
        movers = [row for row in retained_rows if row >= len(order)]
        if holes:
            self._mask[holes] = self._mask[movers]
            for layer in self._layers:
                layer.fill(holes, movers, self._start)
            for hole, mover in zip(holes, movers, strict=True):
                order[hole] = mover
        self._rows = len(order)
        self._start += int(self._mask[: self._rows, self._start :].any(0).int().argmax())
        return order

    def read(self, row: int) -> Layers:
        """Return copies of the keys and values of a row's tokens, for each layer that has its own."""
        mask = self._mask[row, self._start : self._layout.end]
        copies = (
            [part[row, :, self._start : self._layout.end][:, mask] for part in layer.parts] for layer in self._layers
        )
        return [(keys, values) for keys, values in copies]

    def _make_layers(self, count: int) -> None:
        new = [_Layer(self._layout) for _ in range(count - len(self._layers))]
        self._layers += new
        self.layers += new

    def _move(self, rows: int, before: int) -> None:
        """Move to new memory for `rows` rows, at least `before` positions before the end, and ROOM on each side."""
        layout, size = self._layout, self._layout.end - self._start
        start, end = self._start, layout.end
        layout.rows, layout.end = rows, max(before, size) + ROOM
        layout.positions = layout.end + ROOM
        self._start = layout.end - size
        mask = self._mask.new_zeros(layout.rows, layout.positions)
        mask[: self._rows, self._start : layout.end] = self._mask[: self._rows, start:end]
        self._mask = mask
        for layer in self._layers:
            layer.move(self._rows, start, end, layout.end)
