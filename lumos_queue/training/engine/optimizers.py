"""Muon and AdamW as one optimizer, each with its own parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024) on the matrices, AdamW on everything else.

    A scheduler sees the groups of both: `param_groups` are theirs.
    """

    def __init__(
        self,
        matrices: Iterable[torch.nn.Parameter],
        others: Iterable[torch.nn.Parameter],
        *,
        rate: float,
        other_rate: float,
        weight_decay: float,
    ):
        self._parts: tuple[torch.optim.Optimizer, ...] = (
            torch.optim.Muon(list(matrices), lr=rate, momentum=0.95, weight_decay=weight_decay),
            torch.optim.AdamW(list(others), lr=other_rate, betas=(0.9, 0.98), weight_decay=0.0),
        )
        groups = [group for part in self._parts for group in part.param_groups]
        super().__init__(groups, {})
        self._share_groups()

    def _share_groups(self) -> None:
        """Let a change of a rate in `param_groups` be one of the parts."""
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step of both. A closure is not supported."""
        if closure is not None:
            raise ValueError("Muon with AdamW takes no closure")
        for part in self._parts:
            part.step()

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self._parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self._parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share_groups()


def muon_with_adamw(model: torch.nn.Module, rate: float, other_rate: float, weight_decay: float) -> MuonWithAdamW:
    """The optimizer of a language model: matrices are those of its layers, no embeddings, no head."""
    tables = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    outside = {id(module.weight) for module in (*tables, model.get_output_embeddings())}  # type: ignore[operator]
    trained = [value for value in model.parameters() if value.requires_grad]
    matrices = [value for value in trained if value.ndim == 2 and id(value) not in outside]
    chosen = {id(value) for value in matrices}
    others = [value for value in trained if id(value) not in chosen]
    return MuonWithAdamW(matrices, others, rate=rate, other_rate=other_rate, weight_decay=weight_decay)
