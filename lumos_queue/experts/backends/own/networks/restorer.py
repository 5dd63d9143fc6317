"""Pictures to pictures: what is taken from, or added to, each pixel (residual learning, Zhang et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Restorer(nn.Module):
    """Squares of `factor` x `factor` pixels become channels (pixel unshuffle), which makes the convolutions cheap."""

    def __init__(self, factor: int, channels: int, depth: int):
        super().__init__()
        self.factor = factor
        packed = 3 * factor * factor
        self.first = nn.Conv2d(packed, channels, 3, padding=1)
        self.middle = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth))
        self.last = nn.Conv2d(channels, packed, 3, padding=1)
        nn.init.zeros_(self.last.weight)  # at first it changes nothing
        nn.init.zeros_(torch.as_tensor(self.last.bias))

    def forward(self, pictures: Tensor) -> Tensor:
        """(batch, 3, height, width) from 0 to 1, of any size; the output may lie outside of 0 to 1."""
        height, width = pictures.shape[2:]
        padding = (0, -width % self.factor, 0, -height % self.factor)
        whole = functional.pad(pictures, padding, mode="replicate")
        seen = functional.relu(self.first(functional.pixel_unshuffle(whole, self.factor)))
        for one in self.middle:
            seen = seen + functional.relu(one(seen))
        change = functional.pixel_shuffle(self.last(seen), self.factor)
        return pictures + change[:, :, :height, :width]
