"""Train from one checkpoint to the next. Each rank of a window runs this code."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

import torch

from lumos_queue.training.engine.checkpoints import checkpoint_of, read_seal, seal_checkpoint
from lumos_queue.training.engine.data import DEV, TRAIN, EncodedConversations
from lumos_queue.training.engine.dev_loss import dev_loss
from lumos_queue.training.engine.model import load_model, load_tokenizer
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.trainer import ConversationTrainer, WindowEnd


def train_steps(spec: FitSpec, folder: Path, previous: Path | None, stop: int, ranks: int, micro_batch: int) -> None:
    """Train from the checkpoint `previous` (None: from the beginning) to the step `stop`, and seal the new checkpoint.

    Every rank calls this function; the first one writes the seal. Raises DivergedFit when a loss is not a number.
    """
    tokenizer, data = load_tokenizer(spec.tokenizer), Path(spec.data)
    model = load_model(spec)
    examples = EncodedConversations(data / TRAIN)
    trainer = ConversationTrainer(spec, model, tokenizer, examples, folder, ranks, micro_batch)
    torch.set_num_threads(spec.threads)  # after Trainer, which sets the threads of several ranks
    before = read_seal(previous) if previous else {}
    dev = EncodedConversations(data / DEV)
    best = before.get("best_dev_loss")
    if previous is None and spec.base and trainer.is_world_process_zero():  # the loss of random weights is no reference
        best = dev_loss(trainer, dev)
    trainer.add_callback(WindowEnd(stop))
    began = time.monotonic()
    trainer.train(resume_from_checkpoint=str(previous) if previous else None)
    seconds = time.monotonic() - began
    if not trainer.is_world_process_zero():
        return
    now = dev_loss(trainer, dev)
    losses = [loss for loss in (best, before.get("dev_loss")) if loss is not None]
    facts = {
        "spec": spec.digest,
        "step": stop,
        "steps": [asdict(step) for step in trainer.steps_done],
        "dev_loss": now,
        "best_dev_loss": min(losses) if losses else None,
        "micro_batch": micro_batch,
        "ranks": ranks,
        "seconds": seconds,
    }
    seal_checkpoint(folder / f"checkpoint-{stop}", checkpoint_of(folder, stop), facts)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that the device or the host had too little memory."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)
