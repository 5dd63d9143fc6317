"""A network from pictures to labels: of the whole picture, and of the middle of each thing (Zhou et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

SIDE = 64  #: pixels of a side of its pictures
CELL = 4  #: pixels of a side of a cell: a picture has 16 x 16 cells
_WIDTHS = (32, 48)


class ViewerOutput(NamedTuple):
    """The outputs of a Viewer. All except the offsets are logits."""

    groups: list[Tensor]  #: for each group of labels (batch, labels); exactly one label of a group is right
    points: Tensor  #: (batch, 1 + kinds, 16, 16): the kind of thing whose middle is in a cell; index 0: nothing
    offsets: Tensor  #: (batch, 16, 16): distance from the cell's left edge to the thing's left edge, in cells


class Viewer(nn.Module):
    """A convolutional encoder with a linear head for each group of labels, and a head for points."""

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

    def forward(self, pictures: Tensor) -> ViewerOutput:
        """(batch, 3, SIDE, SIDE) from 0 to 1 → labels, points and offsets."""
        cells = self.wide(self.look(pictures - 0.5))
        features = torch.cat([cells.mean(dim=(2, 3)), cells.amax(dim=(2, 3))], dim=1)
        points = self.points(cells)
        return ViewerOutput([head(features) for head in self.groups], points[:, 1:], points[:, 0])
