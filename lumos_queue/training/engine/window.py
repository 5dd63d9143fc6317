"""Run one window of a fit: its optimizer steps start from one checkpoint and end with a new checkpoint.

A window is deterministic given (spec, checkpoint). Therefore a killed window is run again, and two windows of 5 steps
give the same weights as one window of 10 steps. The seal of the new checkpoint contains the window's measurements,
which are read from it if the window was completed before.
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

#: Environment variable of a worker: number of processes that share a window on a CPU, each with its own threads.
RANKS = "LUMOS_TRAIN_RANKS"


@dataclass(frozen=True, slots=True)
class FitWindow:
    """The result of a window: its checkpoint and its measurements."""

    checkpoint: Path
    steps: tuple[TrainingStep, ...]
    dev_loss: float | None  #: nats per assistant token; None: no development conversations
    best_dev_loss: float | None  #: of earlier windows, and of the trained weights that the fit starts from
    micro_batch: int
    ranks: int
    seconds: float  #: that its steps took
    notes: tuple[str, ...]


def run_window(spec: FitSpec, folder: Path, start: int, stop: int, ranks: int = 1) -> FitWindow:
    """Do the optimizer steps `start` + 1 to `stop`, and return their result. `folder` keeps the two newest checkpoints.

    Earlier steps are repeated if their checkpoint is damaged. Raises SpecError for a problem that a person can fix, and
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
    """Return the number of processes for one window: the number of GPUs, or on a CPU LUMOS_TRAIN_RANKS.

    Raises SpecError when the fit is for a GPU and this machine has none.
    """
    if spec.device == "cpu":
        return int(os.environ.get(RANKS, "1"))
    if not torch.cuda.is_available():
        raise SpecError("The fit is for a GPU and this machine has none: start its worker on one, or use --device cpu.")
    return torch.cuda.device_count()


def _try_steps(spec: FitSpec, folder: Path, previous: Path | None, stop: int, ranks: int, micro_batch: int) -> bool:
    """Do the optimizer steps up to `stop`; return False if there was too little memory."""
    remove_old(folder)
    try:
        if ranks == 1:
            train_steps(spec, folder, previous, stop, 1, micro_batch)
        else:
            launch_ranks(ranks, spec, folder, previous, stop, micro_batch)
    except Exception as error:
        remove_old(folder)  # an incomplete checkpoint takes the space of the next attempt
        if is_out_of_memory(error):
            return False
        raise
    return True


def _is_done(target: Path, spec: FitSpec, notes: list[str]) -> bool:
    """Return whether the window was completed before. `notes` gets the problem of a damaged checkpoint."""
    if not target.exists():
        return False
    try:
        return read_seal(target).get("spec") == spec.digest
    except SpecError as problem:
        notes.append(str(problem))
        return False
