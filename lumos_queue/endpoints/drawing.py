"""Sample a token from a model's logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def sample_token(logits: torch.Tensor, temperature: float, top_p: float, uniform: float) -> int:
    """Return the index in `logits` at which the cumulative probability reaches `uniform`, a number from 0 to 1.

    The probabilities are those of the nucleus of mass `top_p` (Holtzman et al. 2020). `logits`: a vector;
    `temperature`: above 0.
    """
    probabilities, order = (logits.double() / temperature).softmax(-1).sort(descending=True, stable=True)
    cumulative = probabilities.cumsum(-1)
    size = int((cumulative - probabilities < top_p).sum().clamp(min=1))
    index = int((cumulative[:size] <= uniform * cumulative[size - 1]).sum())
    return int(order[min(index, size - 1)])
