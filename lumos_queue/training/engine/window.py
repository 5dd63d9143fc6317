"""Run one window of a fit: its optimizer steps start from one checkpoint and end with a new checkpoint.

The steps are deterministic given (spec, checkpoint). Therefore a window continues at any checkpoint within it after it
was stopped or killed, and two windows of 5 steps give the same weights as one window of 10 steps. The seal of a
checkpoint contains the measurements of its window, which are read from it if the window was completed before.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine.checkpoints import (
    UsableCheckpoint,
    newest_usable,
    partial_folder_of,
    remove_later,
    remove_old,
)
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.estimate import check_memory
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.engine.ranks import launch_ranks
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.steps import Attempt, is_out_of_memory, train_steps

#: Environment variable of a worker: number of processes that share a window on a CPU, each with its own threads.
RANKS = "LUMOS_TRAIN_RANKS"


@dataclass(frozen=True, slots=True)
class FitWindow:
    """The result of a window: its checkpoint and its measurements."""

    checkpoint: Path
    steps: tuple[TrainingStep, ...]
    dev: DevRecord
    micro_batch: int
    ranks: int
    seconds: float  #: that its steps took
    notes: tuple[str, ...]
    is_stopped_early: bool = False  #: whether the fit had ended before the end of this window

    @property
    def dev_loss(self) -> float | None:
        """The newest development loss of the window, in nats per assistant token; None: it has none."""
        return self.dev.latest

    @property
    def best_dev_loss(self) -> float | None:
        """The lowest loss of earlier windows, and of the trained weights that the fit starts from."""
        return self.dev.best_before


def run_window(spec: FitSpec, folder: Path, plan: WindowPlan, ranks: int = 1, reporter: Reporter = SILENT) -> FitWindow:
    """Do the optimizer steps of a window that are not done yet, and return the result of the window.

    `folder` keeps the two newest checkpoints and the one with the lowest development loss. Earlier steps are repeated
    if their checkpoint is damaged. Raises SpecError for a problem that a person can fix, DivergedFit when a loss is not
    a number, and FitInterrupted when a stop was requested.
    """
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_usable(folder, spec.digest, plan.stop)
    notes: list[str] = []
    if _is_over(checkpoint.seal, plan):
        reporter.update(FitPhase.LOADING, **_describe(checkpoint.seal, plan))
    else:
        notes += checkpoint.notes
        remove_later(folder, checkpoint.seal.get("step", 0))  # damaged, or of an earlier job
        if not checkpoint.seal:
            estimate = check_memory(spec, ranks)
            reporter.update(FitPhase.LOADING, memory_estimate=estimate.total)
        checkpoint = _do_steps(spec, folder, plan, ranks, reporter, checkpoint, notes)
    assert checkpoint.path is not None, "the steps end with a checkpoint"
    seal = checkpoint.seal
    record = DevRecord.from_seal(seal)
    remove_old(folder, keep=record.best_step)
    is_early = plan.is_stopped_early(record.stale_windows) and seal["step"] < plan.stop
    steps = tuple(TrainingStep(**step) for step in seal["steps"] if step["step"] > plan.start)
    if is_early and seal["step"] <= plan.start:  # it has ended in an earlier window
        record, steps = record.begin_window(), ()
    seconds = seal["seconds"] if steps else 0.0
    sizes = seal["micro_batch"], seal["ranks"]
    return FitWindow(checkpoint.path, steps, record, *sizes, seconds, tuple(notes), is_early)


def _do_steps(
    spec: FitSpec,
    folder: Path,
    plan: WindowPlan,
    ranks: int,
    reporter: Reporter,
    checkpoint: UsableCheckpoint,
    notes: list[str],
) -> UsableCheckpoint:
    """Do the steps of the window after a checkpoint, with less memory if needed. Return the last checkpoint."""
    micro_batch = min(spec.micro_batch, spec.batch)
    while True:
        micro_batch = min(micro_batch, checkpoint.seal.get("micro_batch", micro_batch))
        reporter.update(FitPhase.LOADING, **_describe(checkpoint.seal, plan))
        remove_old(folder, keep=DevRecord.from_seal(checkpoint.seal).best_step)
        attempt = Attempt(folder, partial_folder_of(folder), checkpoint.path, plan, ranks, micro_batch)
        is_done = _try_steps(spec, attempt, reporter)
        checkpoint = newest_usable(folder, spec.digest, plan.stop)
        if is_done and _is_over(checkpoint.seal, plan):
            return checkpoint
        if is_done:
            problem = next(iter(checkpoint.problems), "another process has removed it")
            raise InfrastructureError(f"The checkpoint that was just written cannot be read: {problem}")
        if micro_batch == 1:
            raise SpecError("One conversation is more than the memory holds: lower --max-length, or use --lora.")
        micro_batch //= 2
        notes.append(f"Out of memory: {micro_batch} conversations in a forward pass instead of {2 * micro_batch}.")


def _is_over(seal: Mapping[str, Any], plan: WindowPlan) -> bool:
    """Whether the checkpoint with this seal ends the window, or the fit because of its development losses."""
    if not seal:
        return False
    stale_windows = DevRecord.from_seal(seal).stale_windows
    return seal["step"] == plan.stop or (plan.ends_window(seal["step"]) and plan.is_stopped_early(stale_windows))


def _describe(seal: Mapping[str, Any], plan: WindowPlan) -> dict[str, Any]:
    """Return what a report says before the first step: where the fit continues, and its best step."""
    step = seal.get("step", 0)
    best_step, best_loss = DevRecord.from_seal(seal).best or (None, None)
    numbers = {"steps": plan.steps, "step": step, "start_step": step, "checkpoint_step": step}
    return numbers | {"best_step": best_step, "best_dev_loss": best_loss}


def available_ranks(spec: FitSpec) -> int:
    """Return the number of processes for one window: the number of GPUs, or on a CPU LUMOS_TRAIN_RANKS.

    Raises SpecError when the fit is for a GPU and this machine has none.
    """
    if spec.device == "cpu":
        return int(os.environ.get(RANKS, "1"))
    if not torch.cuda.is_available():
        raise SpecError("The fit is for a GPU and this machine has none: start its worker on one, or use --device cpu.")
    return torch.cuda.device_count()


def _try_steps(spec: FitSpec, attempt: Attempt, reporter: Reporter) -> bool:
    """Do the optimizer steps of an attempt; return False if there was too little memory."""
    try:
        if attempt.ranks == 1:
            train_steps(spec, attempt, reporter)
        else:
            launch_ranks(spec, attempt, reporter)
    except Exception as error:
        if is_out_of_memory(error):
            return False
        raise
    finally:
        shutil.rmtree(attempt.partial_folder, ignore_errors=True)  # it takes the space of the next attempt
    return True
