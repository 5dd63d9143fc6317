"""Drawing a token from a model's logits."""

from __future__ import annotations

from typing import Any


def draw_token(logits: Any, temperature: float, top_p: float, uniform: float) -> int:
    """The place in `logits` at `uniform`, from 0 to 1, in the cumulated probabilities of the nucleus of mass `top_p`
    (Holtzman et al. 2020). `logits`: a vector; `temperature`: above 0."""
    probabilities, order = (logits.double() / temperature).softmax(-1).sort(descending=True, stable=True)
    cumulated = probabilities.cumsum(-1)
    size = int((cumulated - probabilities < top_p).sum().clamp(min=1))
    at = int((cumulated[:size] <= uniform * cumulated[size - 1]).sum())
    return int(order[min(at, size - 1)])
