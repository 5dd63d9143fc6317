"""A network from pictures to pictures: each pixel becomes a weighted sum of its neighbours plus an addition.

For each pixel the network predicts the weights (kernel prediction, Mildenhall et al. 2018) of a mean of neighbours.
Neighbours count less if their colours differ more, as in a bilateral filter (Tomasi and Manduchi 1998): that removes
noise and keeps edges. A second kernel may have negative weights, which sharpen edges. The addition can restore colours.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_REACH = 2  #: reach of a neighbourhood to each side, in pixels
_AROUND = (2 * _REACH + 1) ** 2
_SPATIAL, _RANGE = 1.5, 0.1  #: of the bilateral filter before training: in pixels, and in colour from 0 to 1


class Restorer(nn.Module):
    """Squares of `factor` x `factor` pixels become channels (pixel unshuffle), which makes the convolutions cheap.

    `share`: the share of the mean of neighbours in the result before training, from 0 to 1.
    """

    distances: Tensor

    def __init__(self, factor: int, channels: int, depth: int, share: float):
        super().__init__()
        self.factor, self.share = factor, share
        square = factor * factor
        self.first = nn.Conv2d(3 * square, channels, 3, padding=1)
        self.middle = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth))
        self.last = nn.Conv2d(channels, (2 * _AROUND + 5) * square, 1)
        nn.init.zeros_(self.last.weight)  # before training it is the same filter everywhere
        nn.init.zeros_(torch.as_tensor(self.last.bias))
        steps = torch.arange(-_REACH, _REACH + 1.0)
        distances = (steps[:, None] ** 2 + steps[None, :] ** 2).reshape(1, _AROUND, 1, 1) / (2 * _SPATIAL**2)
        self.register_buffer("distances", distances, persistent=False)

    def forward(self, pictures: Tensor) -> Tensor:
        """(batch, 3, height, width) from 0 to 1, of any size → the same shape, possibly outside of 0 to 1."""
        height, width = pictures.shape[2:]
        padding = (0, -width % self.factor, 0, -height % self.factor)
        whole = functional.pad(pictures, padding, mode="replicate")
        features = functional.relu(self.first(functional.pixel_unshuffle(whole - 0.5, self.factor)))
        for layer in self.middle:
            features = features + functional.relu(layer(features))
        outputs = functional.pixel_shuffle(self.last(features), self.factor)[:, :, :height, :width]
        nearness, kernel, sharpness, share, addition = outputs.split([_AROUND, _AROUND, 1, 1, 3], dim=1)
        apart = _neighbours(pictures) - pictures[:, :, None]
        unlike = (apart**2).mean(dim=1) / (2 * _RANGE**2)
        weights = (nearness - self.distances - unlike * sharpness.clamp(-8, 8).exp()).softmax(dim=1)
        mixture = (self.share + share) * weights + kernel
        return pictures + (apart * mixture[:, None]).sum(dim=2) + addition


def _neighbours(pictures: Tensor) -> Tensor:
    """(batch, 3, height, width) → (batch, 3, neighbours, height, width); the pixel itself is in the middle."""
    batch, _, height, width = pictures.shape
    around = functional.pad(pictures, (_REACH,) * 4, mode="replicate")
    return functional.unfold(around, 2 * _REACH + 1).view(batch, 3, _AROUND, height, width)
