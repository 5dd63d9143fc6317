"""One window of a fit: from the checkpoint of its first step to that of its last.

A window is deterministic given (spec, checkpoint): so a killed one is run again, and two windows of 5 steps give the
same weights as one of 10. What it gave is in the seal of its checkpoint, and is read from there if it was done before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from lumos_queue.errors import SpecError
from lumos_queue.records import TrainingStep
from lumos_queue.training.engine.checkpoints import checkpoint_of, newest_usable, read_seal, remove_old
from lumos_queue.training.engine.ranks import launch_ranks
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.steps import is_out_of_memory, train_steps

#: Variable of a worker: processes that share a window on a CPU, each with its own threads.
RANKS = "LUMOS_TRAIN_RANKS"


@dataclass(frozen=True, slots=True)
class FitWindow:
    """What a window gave."""

    checkpoint: Path
    steps: tuple[TrainingStep, ...]
    dev_loss: float | None  #: nats per assistant token; None: there are no conversations for development
    best_dev_loss: float | None  #: of the windows before, and before the first step where the weights are trained ones
    micro_batch: int
    ranks: int
    seconds: float  #: of its steps
    notes: tuple[str, ...]


def run_window(spec: FitSpec, folder: Path, start: int, stop: int, ranks: int = 1) -> FitWindow:
    """Do the optimizer steps after `start` up to `stop`; checkpoints are in `folder`, the two newest are kept.

    Steps before `start` are done again where their checkpoint is damaged. Raises SpecError for what a person can fix,
    DivergedFit when a loss is not a number.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = checkpoint_of(folder, stop)
    notes: list[str] = []
    if not _is_done(target, spec, notes):
        previous, problems = newest_usable(folder, spec.digest, start)
        micro_batch = read_seal(previous)["micro_batch"] if previous else min(spec.micro_batch, spec.batch)
        if problems:
            begin = read_seal(previous)["step"] if previous else 0
            notes += [*problems, f"Its steps are done again from step {begin}."]
        while not _try_steps(spec, folder, previous, stop, ranks, micro_batch):
            if micro_batch == 1:
                raise SpecError("One conversation is more than the memory holds: lower --max-length, or use --lora.")
            micro_batch //= 2
            notes.append(f"Out of memory: {micro_batch} conversations in a forward pass instead of {2 * micro_batch}.")
    seal = read_seal(target)
    remove_old(folder)
    steps = tuple(TrainingStep(**step) for step in seal["steps"] if step["step"] > start)
    dev = (seal["dev_loss"], seal["best_dev_loss"])
    return FitWindow(target, steps, *dev, seal["micro_batch"], seal["ranks"], seal["seconds"], tuple(notes))


def available_ranks(spec: FitSpec) -> int:
    """Processes for one window: as many as there are GPUs, on a CPU as RANKS says. Raises SpecError without a GPU."""
    if spec.device == "cpu":
        return int(os.environ.get(RANKS, "1"))
    if not torch.cuda.is_available():
        raise SpecError("The fit is for a GPU and this machine has none: start its worker on one, or use --device cpu.")
    return torch.cuda.device_count()


def _try_steps(spec: FitSpec, folder: Path, previous: Path | None, stop: int, ranks: int, micro_batch: int) -> bool:
    """False when memory did not suffice."""
    remove_old(folder)
    try:
        if ranks == 1:
            train_steps(spec, folder, previous, stop, 1, micro_batch)
        else:
            launch_ranks(ranks, spec, folder, previous, stop, micro_batch)
    except Exception as error:
        remove_old(folder)  # what is half written takes the room of the next try
        if is_out_of_memory(error):
            return False
        raise
    return True


def _is_done(target: Path, spec: FitSpec, notes: list[str]) -> bool:
    """Whether this very window ended before, and only its report was lost."""
    if not target.exists():
        return False
    try:
        return read_seal(target).get("spec") == spec.digest
    except SpecError as problem:
        notes.append(str(problem))
        return False
