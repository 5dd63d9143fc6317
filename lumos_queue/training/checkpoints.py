"""Checkpoints of a fit: complete or absent, never in between."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from lumos_queue.errors import SpecError

WEIGHTS, OPTIMIZER, STATE = "model.safetensors", "optimizer.pt", "state.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The result of a window of optimizer steps."""

    path: Path
    step: int  #: optimizer steps done so far
    spec: str  #: digest of the FitSpec
    loss: float | None = None  #: mean over the window's assistant tokens, in nats
    tokens: int = 0  #: real tokens seen in the window, padding not counted
    seconds: float = 0.0  #: of the window's steps

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0


def save_checkpoint(
    checkpoint: Checkpoint, model: torch.nn.Module, optimizers: Sequence[torch.optim.Optimizer]
) -> Checkpoint:
    """Write everything a later window needs. A process killed during this leaves no folder of that name.

    Files are flushed to disk before the folder gets its name; a folder of that name is replaced.
    """
    target = checkpoint.path
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        # Tied weights are one tensor under two names; safetensors keeps one.
        tensors = {name: value.detach().cpu().contiguous() for name, value in _tensors(model).items()}
        save_file(tensors, folder / WEIGHTS)
        torch.save([optimizer.state_dict() for optimizer in optimizers], folder / OPTIMIZER)
        state = {
            "step": checkpoint.step,
            "spec": checkpoint.spec,
            "loss": checkpoint.loss,
            "tokens": checkpoint.tokens,
            "seconds": checkpoint.seconds,
        }
        (folder / STATE).write_text(json.dumps(state) + "\n")
        for name in (WEIGHTS, OPTIMIZER, STATE):
            flush(folder / name)
        flush(folder)
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
        flush(target.parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return checkpoint


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint's state without its weights. Raises SpecError when the folder does not hold one."""
    try:
        state = json.loads((path / STATE).read_text())
        return Checkpoint(path, state["step"], state["spec"], state["loss"], state["tokens"], state["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SpecError(
            f"'{path}' is not a checkpoint of a fit. Expected {WEIGHTS}, {OPTIMIZER} and {STATE}."
        ) from None


def load_weights(path: Path, model: torch.nn.Module) -> None:
    """Put the weights of a checkpoint or an exported folder into the model. Raises SpecError when they do not fit."""
    try:
        tensors = load_file(path / WEIGHTS)
    except (OSError, ValueError) as error:
        raise SpecError(f"No weights could be read from '{path / WEIGHTS}': {error}") from None
    own = _tensors(model)
    if {name: value.shape for name, value in tensors.items()} != {name: value.shape for name, value in own.items()}:
        raise SpecError(f"The weights in '{path}' belong to a model of another shape.")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(tensors[name])


def load_optimizers(path: Path, optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Put the optimizers' state back, exactly. Only tensors and plain values are read (`weights_only`)."""
    for optimizer, state in zip(optimizers, torch.load(path / OPTIMIZER, weights_only=True), strict=True):
        optimizer.load_state_dict(state)


def _tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The model's tensors by name, each tensor once."""
    return dict(model.named_parameters())


def flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
