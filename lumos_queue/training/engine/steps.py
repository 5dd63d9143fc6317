"""Train from one checkpoint to the next. Each rank of a window runs this code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from lumos_queue.errors import FitInterrupted
from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine.checkpoints import read_facts
from lumos_queue.training.engine.data import DEV, TRAIN, EncodedConversations
from lumos_queue.training.engine.dev_loss import dev_loss
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.model import load_model, load_tokenizer
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.progress import Reporter
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.step_end import StepEnd
from lumos_queue.training.engine.trainer import ConversationTrainer


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to do the steps of a window, with a number of processes and a size of the forward pass."""

    folder: Path  #: of the fit's checkpoints
    partial_folder: Path  #: for incomplete checkpoints; the same for all ranks
    previous: Path | None  #: checkpoint to continue from; None: from the beginning
    plan: WindowPlan
    ranks: int
    micro_batch: int

    def as_json(self) -> dict[str, Any]:
        paths = {"folder": str(self.folder), "partial_folder": str(self.partial_folder)}
        return asdict(self) | paths | {"previous": self.previous and str(self.previous)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Attempt:
        paths = {name: Path(value[name]) for name in ("folder", "partial_folder")}
        previous = value["previous"] and Path(value["previous"])
        return cls(**{**value, **paths, "previous": previous, "plan": WindowPlan.from_json(value["plan"])})


def train_steps(spec: FitSpec, attempt: Attempt, reporter: Reporter) -> None:
    """Train until the end of the window, and seal checkpoints: at the end, and within the window as the plan says.

    Every rank calls this function; the first one writes the seals. Raises DivergedFit when a loss is not a number, and
    FitInterrupted when a stop was requested before the end; then the newest checkpoint is that of the last step.
    """
    plan, previous = attempt.plan, attempt.previous
    tokenizer, data = load_tokenizer(spec.tokenizer), Path(spec.data)
    model = load_model(spec)
    examples = EncodedConversations(data / TRAIN)
    trainer = ConversationTrainer(
        spec, model, tokenizer, examples, attempt.partial_folder, attempt.ranks, attempt.micro_batch, reporter
    )
    torch.set_num_threads(spec.threads)  # after Trainer, which sets the threads of several ranks
    before = read_facts(previous) if previous else {}
    dev = EncodedConversations(data / DEV)
    record = _begin_record(before, plan)
    if previous is None and spec.base and trainer.is_world_process_zero():  # the loss of random weights is no reference
        reporter.update(FitPhase.EVALUATING)
        record = DevRecord(best_before=dev_loss(trainer, dev))
    is_within = bool(before) and before["step"] > plan.start
    facts = {
        "spec": spec.digest,
        "micro_batch": attempt.micro_batch,
        "ranks": attempt.ranks,
        "steps": [step for step in before["steps"] if step["step"] > plan.start] if is_within else [],
        "seconds": before["seconds"] if is_within else 0.0,
    }
    reporter.repeat_steps([TrainingStep(**step) for step in facts["steps"]])
    step_end = StepEnd(
        plan,
        attempt.folder,
        record,
        facts,
        lambda: dev_loss(trainer, dev),
        trainer.steps_done,
        reporter,
        attempt.ranks,
    )
    trainer.add_callback(step_end)
    trainer.train(resume_from_checkpoint=str(previous) if previous else None)
    step = trainer.state.global_step
    if step < plan.stop and not step_end.has_stopped_early:
        raise FitInterrupted(f"stopped after step {step}, with a checkpoint")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that the device or the host had too little memory."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def _begin_record(before: Mapping[str, Any], plan: WindowPlan) -> DevRecord:
    """Return the development losses up to the checkpoint with the seal `before`; {}: there is none."""
    if not before:
        return DevRecord()
    record, step = DevRecord.from_seal(before), before["step"]
    is_at_boundary = step % plan.window == 0 if plan.window else step <= plan.start
    return record.begin_window() if is_at_boundary else record
