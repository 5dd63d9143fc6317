"""Adapt `transformers.Trainer` to conversations, with the loss of LUMOS on only the tokens that are learnt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import torch
from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback
from transformers.trainer_pt_utils import get_length_grouped_indices

from lumos_queue.errors import DivergedFit
from lumos_queue.records import TrainingStep
from lumos_queue.training.engine.data import IGNORED, EncodedConversations, pad_right
from lumos_queue.training.engine.model import is_encoder_decoder
from lumos_queue.training.engine.optimizers import muon_with_adamw
from lumos_queue.training.engine.pairs import pad_pairs, reply_losses
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.engine.resident_memory import peak_resident_bytes
from lumos_queue.training.engine.spec import BF16, MUON, FitSpec

#: Part of the prompt tokens whose loss is computed, because the projection is expensive. Their weight is larger.
PROMPT_SAMPLE = 0.25


class ConversationTrainer(Trainer):
    """Fits a model on encoded conversations. `steps_done` lists the measurements of each optimizer step."""

    def __init__(
        self,
        spec: FitSpec,
        model: PreTrainedModel | PeftModel,
        tokenizer: PreTrainedTokenizerBase,
        data: EncodedConversations,
        folder: Path,
        ranks: int,
        micro_batch: int,
        reporter: Reporter = SILENT,
    ):
        """Prepare a fit that writes checkpoints to `folder`; a rank's forward pass has `micro_batch` conversations."""
        self.spec, self._tokens, self._reporter = spec, 0, reporter
        self.steps_done: list[TrainingStep] = []
        self.pad = pad = cast(int, tokenizer.pad_token_id)
        self.pairs = is_encoder_decoder(model)
        self.collate = pad_pairs if self.pairs else pad_right
        super().__init__(
            model=model,
            args=_arguments(spec, folder, len(data), ranks, micro_batch),
            train_dataset=data,
            data_collator=lambda rows: self.collate(rows, pad),
            callbacks=[],
        )
        for callback in (PrinterCallback, ProgressCallback):
            self.remove_callback(callback)
        self.model_accepts_loss_kwargs = False
        self.loss_is_scaled_for_ga = False  # the mean of each micro-batch counts the same (spec 3.5)
        self.head = LearntPositions(model)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the mean loss over the assistant tokens of the micro-batch, in nats.

        With a prompt weight, the weighted loss of the prompts is added. The sum is divided by the number of assistant
        tokens, so that long prompts do not slow down the learning of replies. An encoder-decoder learns only replies.
        """
        if self.pairs:
            self._tokens += int(inputs["lengths"].sum())
            loss = reply_losses(model, inputs).mean()
            return (loss, None) if return_outputs else loss
        ids, labels = inputs["input_ids"], inputs["labels"][:, 1:]
        learnt = labels != IGNORED
        weights = learnt.float()
        if self.spec.prompt_weight:
            positions = torch.arange(1, ids.shape[1], device=ids.device)
            real = positions < inputs["lengths"][:, None].to(ids.device)
            sample = real & (torch.rand(labels.shape, device=ids.device) < PROMPT_SAMPLE)
            weights = torch.where(learnt, 1.0, self.spec.prompt_weight / PROMPT_SAMPLE * sample)
        mask = weights > 0
        with self.head.at(mask):
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits
        losses = torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][mask], reduction="none")
        self._tokens += int(inputs["lengths"].sum())
        loss = (losses * weights[mask]).sum() / learnt.sum()
        return (loss, logits) if return_outputs else loss

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.spec.optimizer != MUON:
            return super().create_optimizer(model)
        if self.optimizer is None:
            spec = self.spec
            self.optimizer = muon_with_adamw(cast(Any, self.model), spec.rate, spec.other_rate, spec.weight_decay)
        return self.optimizer

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler[int]:
        lengths, batch = cast(EncodedConversations, self.train_dataset).lengths, self.spec.batch
        steps = -(-len(lengths) // batch)
        return LengthGroups(lengths, batch, self.spec.seed, lambda: self.state.global_step // steps)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Record an optimizer step. Raises DivergedFit when its loss or gradient is not a number."""
        if "loss" not in logs:
            return
        if not (math.isfinite(logs["loss"]) and math.isfinite(logs["grad_norm"])):
            step = self.state.global_step
            raise DivergedFit(f"step {step}: the loss is {logs['loss']}, its gradient's norm {logs['grad_norm']}")
        tokens = torch.tensor(self._tokens, device=self.args.device)
        self._tokens = 0
        step = TrainingStep(
            fit="",
            step=self.state.global_step,
            loss=logs["loss"],
            rate=logs["learning_rate"],
            grad_norm=logs["grad_norm"],
            tokens=int(cast(torch.Tensor, self.accelerator.reduce(tokens))),
            memory=_peak_memory(self.args.device),
        )
        self.steps_done.append(step)
        self._reporter.report_step(step)


class LearntPositions:
    """Limits a model's head to selected positions, because the projection to the vocabulary is expensive."""

    def __init__(self, model: PreTrainedModel | PeftModel):
        self._mask: torch.Tensor | None = None
        inner: Any = model.get_base_model() if isinstance(model, PeftModel) else model
        inner.get_output_embeddings().register_forward_pre_hook(self._select)

    def at(self, mask: torch.Tensor) -> LearntPositions:
        """Select the positions of one forward pass by a mask of shape (rows, length).

        The logits of the pass have the shape (positions, vocabulary).
        """
        self._mask = mask
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._mask = None

    def _select(self, _module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...] | None:
        return None if self._mask is None else (inputs[0][self._mask], *inputs[1:])


class LengthGroups(torch.utils.data.Sampler[int]):
    """Yields indices of conversations, similar lengths together, in an order that depends only on seed and epoch.

    The order of Trainer's own sampler also depends on the global random state, and on how ranks share a batch. The
    function `epoch` returns the number of the epoch that begins, because Trainer does not pass that number to the
    sampler of a resumed loader with several ranks.
    """

    def __init__(self, lengths: list[int], batch: int, seed: int, epoch: Callable[[], int]):
        self._lengths, self._batch, self._seed, self._epoch = lengths, batch, seed, epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed((self._seed << 20) + self._epoch())
        return iter(get_length_grouped_indices(self._lengths, self._batch, generator=generator))


def _arguments(spec: FitSpec, folder: Path, conversations: int, ranks: int, micro_batch: int) -> TrainingArguments:
    steps = spec.steps_of(conversations)
    schedule: dict[str, Any] = {"lr_scheduler_type": "linear"}
    if spec.decay < 1:
        kinds = {"num_decay_steps": round(spec.decay * steps), "decay_type": "linear", "min_lr_ratio": 0.0}
        schedule = {"lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": kinds}
    checkpoint_options: dict[str, Any] = {}
    if spec.gradient_checkpointing:
        checkpoint_options = {
            "activation_checkpointing": True,
            "activation_checkpointing_kwargs": {"use_reentrant": False},
        }
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=-(-spec.batch // (micro_batch * ranks)),
        learning_rate=spec.rate,
        weight_decay=spec.weight_decay,
        warmup_steps=spec.warm_up_steps(steps),
        max_grad_norm=1.0,
        bf16=spec.precision == BF16,
        use_cpu=spec.device == "cpu",
        seed=spec.seed,
        train_sampling_strategy="group_by_length",
        save_strategy="no",
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        ddp_backend="gloo" if spec.device == "cpu" and ranks > 1 else None,
        dataloader_pin_memory=spec.device != "cpu",
        **schedule,
        **checkpoint_options,
    )


def _peak_memory(device: torch.device) -> int:
    """Return the peak memory in bytes: the tensors on the GPU, or on a CPU this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_resident_bytes()
