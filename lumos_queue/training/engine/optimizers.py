"""Combine Muon and AdamW in one optimizer. Each updates its own parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

#: Coefficients of Jordan et al. for the polynomial that moves singular values towards 1; torch.optim.Muon has the same.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024) as torch.optim.Muon computes it, but with float32 products on a CPU.

    torch.optim.Muon multiplies in bfloat16 on every device. On a CPU without bfloat16 instructions such a product takes
    eight times as long, and an update takes four times as long as the forward and backward pass of a small model.
    """

    def __init__(self, matrices: Iterable[torch.nn.Parameter], rate: float, momentum: float, weight_decay: float):
        super().__init__(list(matrices), {"lr": rate, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Do one optimizer step. Raises ValueError for a closure."""
        if closure is not None:
            raise ValueError("Muon takes no closure")
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                mean = state.setdefault("momentum_buffer", torch.zeros_like(matrix.grad))
                mean.lerp_(matrix.grad, 1 - momentum)
                update = orthogonalize(matrix.grad.lerp(mean, momentum))
                matrix.mul_(1 - rate * group["weight_decay"])
                matrix.add_(update, alpha=-rate * max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5)


def orthogonalize(matrix: torch.Tensor) -> torch.Tensor:
    """Return a matrix with the same singular vectors, and singular values of about 1 (from 0.5 to 1.5).

    Newton-Schulz steps compute it.
    """
    a, b, c = NEWTON_SCHULZ
    iterate = matrix if matrix.device.type == "cpu" else matrix.bfloat16()
    is_tall = matrix.shape[0] > matrix.shape[1]
    iterate = iterate.T if is_tall else iterate
    iterate = iterate / iterate.norm().clamp(min=1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = iterate @ iterate.T
        iterate = torch.addmm(iterate, torch.addmm(gram, gram, gram, beta=b, alpha=c), iterate, beta=a)
    return iterate.T if is_tall else iterate


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon (Jordan et al., 2024) on the matrices, AdamW on everything else.

    `param_groups` has the groups of both optimizers, so that a scheduler changes all rates.
    """

    def __init__(
        self,
        matrices: Iterable[torch.nn.Parameter],
        other_parameters: Iterable[torch.nn.Parameter],
        *,
        rate: float,
        other_rate: float,
        weight_decay: float,
    ):
        self._parts: tuple[torch.optim.Optimizer, ...] = (
            Muon(matrices, rate, 0.95, weight_decay),
            torch.optim.AdamW(list(other_parameters), lr=other_rate, betas=(0.9, 0.98), weight_decay=0.0),
        )
        groups = [group for part in self._parts for group in part.param_groups]
        super().__init__(groups, {})
        self._share_groups()

    def _share_groups(self) -> None:
        """Let both optimizers use the groups in `param_groups`, so that a scheduler's new rate applies to them."""
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Do one step of both optimizers. Raises ValueError for a closure."""
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
    """Return the optimizer of a language model. Muon gets the matrices of the layers, without embeddings and head."""
    tables = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    outside = {id(module.weight) for module in (*tables, model.get_output_embeddings())}  # type: ignore[operator]
    parameters = [value for value in model.parameters() if value.requires_grad]
    matrices = [value for value in parameters if value.ndim == 2 and id(value) not in outside]
    matrix_ids = {id(value) for value in matrices}
    other_parameters = [value for value in parameters if id(value) not in matrix_ids]
    return MuonWithAdamW(matrices, other_parameters, rate=rate, other_rate=other_rate, weight_decay=weight_decay)
