"""One window of a fit: from the checkpoint of its first step to that of its last.

A window is deterministic given (spec, checkpoint): so a killed one is run again, and two windows of 5 steps give the
same weights as one of 10. What it gave is in the seal of its checkpoint, and is read from there if it was done before.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.checkpoints import checkpoint_of, newest_usable, read_seal, remove_old, seal_checkpoint
from lumos_queue.training.engine.data import EncodedConversations
from lumos_queue.training.engine.dev_loss import dev_loss
from lumos_queue.training.engine.model import load_model, load_tokenizer
from lumos_queue.training.engine.ranks import launch_ranks
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.trainer import ConversationTrainer, WindowEnd
from lumos_queue.training.recipes.base import TrainingStep

#: Variable of a worker: processes that share a window on a CPU, each with its own threads.
RANKS = "LUMOS_TRAIN_RANKS"
TRAIN, DEV = "train.safetensors", "dev.safetensors"


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


def train_steps(spec: FitSpec, folder: Path, previous: Path | None, stop: int, ranks: int, micro_batch: int) -> None:
    """Train from a checkpoint (None: from the beginning) to the step `stop`; called in every rank. Writes the seal."""
    tokenizer, data = load_tokenizer(spec.tokenizer), Path(spec.data)
    model = load_model(spec)
    examples = EncodedConversations(data / TRAIN)
    trainer = ConversationTrainer(spec, model, tokenizer, examples, folder, ranks, micro_batch)
    torch.set_num_threads(spec.threads)  # after Trainer, which sets it for several ranks
    before = read_seal(previous) if previous else {}
    dev = EncodedConversations(data / DEV)
    best = before.get("best_dev_loss")
    if previous is None and spec.base and trainer.is_world_process_zero():  # that of random weights says nothing
        best = dev_loss(trainer, dev)
    trainer.add_callback(WindowEnd(stop))
    began = time.monotonic()
    trainer.train(resume_from_checkpoint=str(previous) if previous else None)
    seconds = time.monotonic() - began
    if not trainer.is_world_process_zero():
        return
    now = dev_loss(trainer, dev)
    known = [loss for loss in (best, before.get("dev_loss")) if loss is not None]
    facts = {
        "spec": spec.digest,
        "step": stop,
        "steps": [asdict(step) for step in trainer.steps_done],
        "dev_loss": now,
        "best_dev_loss": min(known) if known else None,
        "micro_batch": micro_batch,
        "ranks": ranks,
        "seconds": seconds,
    }
    seal_checkpoint(folder / f"checkpoint-{stop}", checkpoint_of(folder, stop), facts)


def _try_steps(spec: FitSpec, folder: Path, previous: Path | None, stop: int, ranks: int, micro_batch: int) -> bool:
    """False when memory did not suffice."""
    remove_old(folder)
    try:
        if ranks == 1:
            train_steps(spec, folder, previous, stop, 1, micro_batch)
        else:
            launch_ranks(ranks, spec, folder, previous, stop, micro_batch)
    except Exception as error:
        if is_out_of_memory(error):
            return False
        raise
    return True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, or the host for a tensor, had no memory left."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def _is_done(target: Path, spec: FitSpec, notes: list[str]) -> bool:
    """Whether this very window ended before, and only its report was lost."""
    if not target.exists():
        return False
    try:
        return read_seal(target).get("spec") == spec.digest
    except SpecError as problem:
        notes.append(str(problem))
        return False
