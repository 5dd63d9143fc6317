"""The lesson of one expert: a network and its loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

SPLIT = "train"
Chance = np.random.Generator


@dataclass(frozen=True, slots=True)
class Lesson:
    """A network with random weights, and its loss."""

    network: nn.Module
    shape: Mapping[str, Any]  #: arguments of the network
    loss: Callable[[Chance], Tensor]  #: the loss of a random batch
    vocabulary: Mapping[str, Any]
    rate: float = 2e-3  #: largest learning rate
