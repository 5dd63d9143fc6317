"""Write and read checkpoints of an expert's fit: tensors as safetensors, everything else in the seal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

from lumos_queue.records import TrainingStep
from lumos_queue.training.engine.checkpoints import checkpoint_of, partial_folder_of, remove_old, seal_checkpoint
from lumos_queue.training.experts.dev import DevFigure
from lumos_queue.training.experts.fit import BestWeights, ExpertFit
from lumos_queue.util.regular_file import read_regular

STATE, BEST = "state.safetensors", "best.safetensors"
_NETWORK, _OPTIMIZER, _RANDOM = "network.", "optimizer.", "random"


def write_checkpoint(fit: ExpertFit, folder: Path, facts: Mapping[str, Any]) -> None:
    """Write a checkpoint of the latest step into the folder of the fit's checkpoints.

    `facts`: of the seal: `spec`, the digest of the fit, and `seconds`.
    """
    partial_folder = partial_folder_of(folder)
    shutil.rmtree(partial_folder, ignore_errors=True)
    partial_folder.mkdir(parents=True)
    try:
        (partial_folder / STATE).write_bytes(save(_tensors_of(fit)))
        best = None
        if fit.best:
            (partial_folder / BEST).write_bytes(fit.best.weights)
            figures = [asdict(figure) for figure in fit.best.figures]
            best = {"score": fit.best.score, "step": fit.best.step, "figures": figures}
        steps = [asdict(step) for step in fit.steps_done]
        seal_checkpoint(
            partial_folder, checkpoint_of(folder, fit.step), {**facts, "step": fit.step, "steps": steps, "best": best}
        )
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
    remove_old(folder)


def restore_fit(fit: ExpertFit, checkpoint: Path, seal: Mapping[str, Any]) -> None:
    """Give a new fit the state of an undamaged checkpoint with this seal."""
    tensors = load(read_regular(checkpoint / STATE, checkpoint))
    fit.network.load_state_dict(_with_prefix(tensors, _NETWORK))
    states: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _with_prefix(tensors, _OPTIMIZER).items():
        index, _, field_name = name.partition(".")
        states.setdefault(int(index), {})[field_name] = tensor
    fit.optimizer.load_state_dict({"state": states, "param_groups": fit.optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(tensors[_RANDOM])
    fit.steps_done = [TrainingStep(**step) for step in seal["steps"]]
    if best := seal["best"]:
        figures = [DevFigure(**figure) for figure in best["figures"]]
        weights = read_regular(checkpoint / BEST, checkpoint)
        fit.best = BestWeights(best["score"], best["step"], weights, figures)


def _tensors_of(fit: ExpertFit) -> dict[str, Tensor]:
    """Return all tensors of a fit's state by name. AdamW's state has a number for each parameter."""
    network = {_NETWORK + name: tensor.contiguous() for name, tensor in fit.network.state_dict().items()}
    optimizer = {
        f"{_OPTIMIZER}{index}.{name}": tensor.contiguous()
        for index, values in fit.optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }
    return network | optimizer | {_RANDOM: torch.get_rng_state()}


def _with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
