"""Decide after each optimizer step whether to evaluate the fit, write a checkpoint, or stop, and seal checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine.checkpoint_clock import CheckpointClock
from lumos_queue.training.engine.checkpoints import checkpoint_of, remove_old, seal_checkpoint
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.progress import Reporter

_SAVE, _STOP, _EARLY = 1, 2, 4  # bits of the decision of the first rank


class StepEnd(TrainerCallback):
    """The callback of one window. The first rank decides, and its decision applies to all ranks."""

    def __init__(
        self,
        plan: WindowPlan,
        folder: Path,
        record: DevRecord,
        facts: dict[str, Any],
        evaluate: Callable[[], float | None],
        steps_done: list[TrainingStep],
        reporter: Reporter,
        ranks: int,
    ):
        """`facts`: of the seals of all checkpoints: `spec`, `micro_batch`, `ranks`, and `steps` and `seconds` of the
        window before this process. `evaluate` returns the development loss. `steps_done`: the steps of this process.
        """
        self.record = record
        self.has_stopped_early = False  #: whether the fit has ended because no lower development loss came
        self._plan, self._folder, self._facts, self._evaluate = plan, folder, facts, evaluate
        self._steps_done, self._reporter, self._ranks = steps_done, reporter, ranks
        self._clock = CheckpointClock(plan.checkpoint_seconds)
        self._start_time = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        self._start_time = time.monotonic()
        self._clock.start()
        self._reporter.update(FitPhase.TRAINING, checkpoint_seconds=self._clock.interval)
        return control

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        decision = self._decide(state.global_step) if state.is_world_process_zero else 0
        if self._ranks > 1:
            shared = torch.tensor(decision, device=args.device)
            torch.distributed.broadcast(shared, src=0)
            decision = int(shared)
            self.has_stopped_early = bool(decision & _EARLY)
        control.should_save = control.should_save or bool(decision & _SAVE)
        control.should_training_stop = control.should_training_stop or bool(decision & _STOP)
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if self._ranks > 1:
            torch.distributed.barrier()  # each rank writes the state of its random numbers
        if state.is_world_process_zero:
            self._seal(Path(args.output_dir) / f"checkpoint-{state.global_step}", state.global_step)
        return control

    def _decide(self, step: int) -> int:
        plan, is_best = self._plan, False
        if plan.is_evaluated(step):
            self._reporter.update(FitPhase.EVALUATING)
            loss = self._evaluate()
            if loss is not None:
                self.record = self.record.add(step, loss)
                is_best = self.record.best == (step, loss)
                best_step, best_loss = self.record.best or (None, None)
                self._reporter.update(FitPhase.TRAINING, dev_loss=loss, best_step=best_step, best_dev_loss=best_loss)
        is_end = plan.ends_window(step)
        if is_end:
            self.record = self.record.end_window()
        self.has_stopped_early = is_end and plan.is_stopped_early(self.record.stale_windows)
        is_stopping = step >= plan.stop or self.has_stopped_early or self._reporter.is_stop_requested()
        is_saved = is_stopping or is_end or is_best or self._clock.is_due()
        self._clock.begin_checkpoint()
        return _SAVE * is_saved + _STOP * is_stopping + _EARLY * self.has_stopped_early

    def _seal(self, partial_folder: Path, step: int) -> None:
        """Seal the checkpoint that the trainer has written into `partial_folder`."""
        self._reporter.update(FitPhase.SAVING)
        plan = self._plan
        steps = [asdict(done) for done in self._steps_done if done.step > plan.start]
        now = time.monotonic()
        facts = {
            **self._facts,
            "step": step,
            "steps": [*self._facts["steps"], *steps],
            "seconds": self._facts["seconds"] + now - self._start_time,
            "dev": self.record.as_json(),
        }
        seal_checkpoint(partial_folder, checkpoint_of(self._folder, step), facts)
        remove_old(self._folder, keep=self.record.best_step)
        self._clock.end_checkpoint()
        if plan.ends_window(step) and step < plan.stop:
            self.record = self.record.begin_window()
        self._reporter.update(FitPhase.TRAINING, checkpoint_step=step, checkpoint_seconds=self._clock.interval)
