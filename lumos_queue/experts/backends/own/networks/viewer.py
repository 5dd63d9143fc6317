"""Pictures to labels: of the whole picture, and of the point in the middle of each thing (Zhou et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

SIDE = 64  #: pixels of the pictures that it sees
CELL = 4  #: pixels of a side of a cell: 16 x 16 cells
_WIDTHS = (32, 48)


class Seen(NamedTuple):
    """Logits, but for the offsets."""

    groups: list[Tensor]  #: for each group of labels (batch, labels): of which one holds
    points: Tensor  #: (batch, 1 + kinds, 16, 16): what has its middle in a cell; first of all: nothing
    offsets: Tensor  #: (batch, 16, 16): how far right of the cell's left edge the thing's left edge is, in cells


class Viewer(nn.Module):
    """A convolutional encoder with a linear head for each group of labels, and one for points."""

    def __init__(self, groups: Sequence[int], kinds: int):
        super().__init__()
        small, large = _WIDTHS
        self.look = nn.Sequential(
            nn.Conv2d(3, small, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(small, large, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(large, large, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(large, large, 3, padding=1),
            nn.ReLU(),
        )
        self.wide = nn.Sequential(nn.Conv2d(large, large, 3, padding=2, dilation=2), nn.ReLU())
        self.groups = nn.ModuleList(nn.Linear(2 * large, size) for size in groups)
        self.points = nn.Conv2d(large, 2 + kinds, 1)

    def forward(self, pictures: Tensor) -> Seen:
        """(batch, 3, SIDE, SIDE) from 0 to 1."""
        cells = self.wide(self.look(pictures - 0.5))
        pooled = torch.cat([cells.mean(dim=(2, 3)), cells.amax(dim=(2, 3))], dim=1)
        points = self.points(cells)
        return Seen([head(pooled) for head in self.groups], points[:, 1:], points[:, 0])
