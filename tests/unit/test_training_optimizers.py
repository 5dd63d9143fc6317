"""Muon: the updates of torch's, whose products are of bfloat16, from products of float32."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("shape", [(64, 192), (192, 64), (64, 64)])
def test_updates_are_those_of_torch_up_to_the_rounding_of_bfloat16(shape):
    import torch

    from lumos_queue.training.engine.optimizers import Muon

    torch.manual_seed(0)
    start = torch.randn(shape)
    mine, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    one = Muon([mine], rate=0.02, momentum=0.95, weight_decay=0.05)
    other = torch.optim.Muon([theirs], lr=0.02, momentum=0.95, weight_decay=0.05)
    for _ in range(5):
        gradient = torch.randn(shape)
        for parameter, optimizer in ((mine, one), (theirs, other)):
            parameter.grad = gradient.clone()
            optimizer.step()
    moved = (theirs - start).abs().mean()
    assert (mine - theirs).abs().max() < 0.1 * moved, "other rates, or another momentum"


def test_singular_values_become_about_one():
    import torch

    from lumos_queue.training.engine.optimizers import orthogonalize

    torch.manual_seed(0)
    found = torch.linalg.svdvals(orthogonalize(torch.randn(48, 96) * 30))
    assert found.min() > 0.3 and found.max() < 1.3


def test_a_parameter_without_a_gradient_stays_and_a_closure_is_refused():
    import torch

    from lumos_queue.training.engine.optimizers import Muon

    matrix = torch.nn.Parameter(torch.ones(4, 4))
    optimizer = Muon([matrix], rate=0.1, momentum=0.9, weight_decay=0.1)
    optimizer.step()
    assert torch.equal(matrix, torch.ones(4, 4))
    with pytest.raises(ValueError, match="no closure"):
        optimizer.step(lambda: 0.0)
