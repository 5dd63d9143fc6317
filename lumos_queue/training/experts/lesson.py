"""The lesson of one expert and its training loop. The same seed gives the same weights on any number of cores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

SPLIT = "train"
Chance = np.random.Generator
_WARM_UP = 0.05  #: the part of the steps in which the rate grows
_CHECKS = (0.7, 0.85)  #: after these parts of the steps, and at the end, weights are measured
_FEW = 20  #: a lesson of at most so many steps is measured only at its end


@dataclass(frozen=True, slots=True)
class Lesson:
    """A network with random weights, and its loss."""

    network: nn.Module
    shape: Mapping[str, Any]  #: arguments of the network
    loss: Callable[[Chance], Tensor]  #: the loss of a random batch
    vocabulary: Mapping[str, Any]
    rate: float = 2e-3  #: largest learning rate


def learn(lesson: Lesson, steps: int, seed: int, measure: Callable[[int], None]) -> float:
    """Do the optimizer steps (AdamW) and call `measure` with the number of completed steps; return the final loss.

    The final loss is the mean of the last tenth of the steps. The batch of a step depends only on (seed, step).
    """
    torch.set_num_threads(1)
    optimizer = torch.optim.AdamW(lesson.network.parameters(), lr=lesson.rate, betas=(0.9, 0.98), weight_decay=1e-4)
    checks = {int(part * steps) for part in _CHECKS if steps > _FEW} | {steps}
    losses: list[float] = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lesson.rate * _factor(step, steps)
        loss = lesson.loss(np.random.default_rng((seed, step)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(lesson.network.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step + 1 in checks:
            measure(step + 1)
    last = losses[-max(1, steps // 10) :]
    return sum(last) / len(last)


def _factor(step: int, steps: int) -> float:
    """Return the factor of the largest rate: a linear warm-up, then half a cosine down to 0."""
    warm = max(1.0, _WARM_UP * steps)
    return min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * step / steps))
