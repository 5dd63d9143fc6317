"""Fit a small model in windows of optimizer steps. Each window starts from a checkpoint and ends in one.

A window is deterministic given (spec, steps, checkpoint): the batches and the dropout of a step come from a hash of
(seed, step). So a killed window is run again, and two windows of 5 steps give the same weights as one of 10.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.training.batches import Batches, step_seed
from lumos_queue.training.checkpoints import (
    Checkpoint,
    load_optimizers,
    load_weights,
    read_checkpoint,
    save_checkpoint,
)
from lumos_queue.training.masks import Example, encode, pad
from lumos_queue.training.model import ModelSpec, add_dropout, make_model

PROMPT_SAMPLE = (
    0.25  #: part of the prompt tokens whose loss is computed, with a larger weight: the projection is expensive
)


@dataclass(frozen=True)
class FitSpec:
    """Everything that decides the final weights, besides the files' content; JSON-able."""

    data: tuple[str, ...]  #: files of conversations, see conversations.py
    tokenizer: str  #: folder
    steps: int  #: optimizer steps in all
    window: int = 200  #: optimizer steps between checkpoints
    tokens: int = 2000  #: of one step, padding included
    seed: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)  #: data set prefix to its share of the tokens
    model: ModelSpec = field(default_factory=ModelSpec)
    start: str = ""  #: folder whose weights the fit starts from; '' = random ones
    matrix_rate: float = 0.02  #: Muon, on the matrices
    other_rate: float = 4e-3  #: AdamW, on embeddings and norms
    weight_decay: float = 0.05
    warm_up: int = 100  #: steps
    decay: float = 0.6  #: the last part of the steps, in which the rates fall linearly to 0
    dropout: float = 0.05
    prompt_weight: float = 0.0  #: of the loss on what the user says; 0 = LUMOS, assistant tokens only
    threads: int = 1  #: more are slower for matrices this small; another number may round differently

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FitSpec:
        return cls(**{**value, "data": tuple(value["data"]), "model": ModelSpec(**value["model"])})

    @property
    def digest(self) -> str:
        return digest("fit", json.dumps(self.as_json(), sort_keys=True))

    def windows(self) -> list[tuple[int, int]]:
        """(first step, step after the last) of every window."""
        return [(step, min(step + self.window, self.steps)) for step in range(0, self.steps, self.window)]


def fit_window(
    spec: FitSpec, start_step: int, stop_step: int, previous_checkpoint: Path | None, folder: Path
) -> Checkpoint:
    """Do the optimizer steps `start_step` to `stop_step` - 1 and write the checkpoint `folder/step-<stop_step>`.

    `previous_checkpoint` is that of `start_step`, None at step 0. Raises SpecError when it is of another step or spec.
    """
    torch.set_num_threads(spec.threads)
    tokenizer, batches = load_data(spec.data, spec.tokenizer, spec.model.positions, _hashable(spec.shares), spec.tokens)
    model = make_model(spec.model, tokenizer, spec.seed)
    if previous_checkpoint is not None:
        check_checkpoint(previous_checkpoint, spec, start_step)
        load_weights(previous_checkpoint, model)
    elif start_step:
        raise SpecError(f"Step {start_step} needs the checkpoint of the steps before it; there is none.")
    elif spec.start:
        load_weights(Path(spec.start), model)
    optimizers = make_optimizers(spec, model)
    if previous_checkpoint is not None:
        load_optimizers(previous_checkpoint, optimizers)
    add_dropout(model, spec.dropout)
    model.train()
    total, count, tokens, began = 0.0, 0, 0, time.monotonic()
    for step in range(start_step, stop_step):
        examples = batches.draw(spec.seed, step)
        set_rates(spec, optimizers, step)
        torch.manual_seed(step_seed(spec.seed, step))
        loss, answers, loss_sum = step_loss(model, examples, cast(int, tokenizer.pad_token_id), spec.prompt_weight)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        total, count = total + loss_sum, count + answers
        tokens += sum(len(example.ids) for example in examples)
    done = Checkpoint(
        folder / f"step-{stop_step:06d}",
        stop_step,
        spec.digest,
        total / count if count else None,
        tokens,
        time.monotonic() - began,
    )
    return save_checkpoint(done, model, optimizers)


def check_checkpoint(checkpoint: Path, spec: FitSpec, step: int) -> None:
    """Raises SpecError unless the checkpoint is the one `spec` has after `step` steps."""
    found = read_checkpoint(checkpoint)
    if found.step != step or found.spec != spec.digest:
        raise SpecError(
            f"'{checkpoint}' is step {found.step} of fit {found.spec[:12]}, not step {step} of {spec.digest[:12]}."
        )


def step_loss(
    model: LlamaForCausalLM, examples: list[Example], pad_id: int, prompt_weight: float
) -> tuple[torch.Tensor, int, float]:
    """(weighted mean loss, number of assistant tokens, sum of their losses in nats) of one batch.

    Padding is on the right, so causal attention alone keeps it out; the projection is computed only where the loss is.
    """
    ids, learnt, real = (torch.from_numpy(array).to(model.device) for array in pad(examples, pad_id))
    targets, weights = ids[:, 1:], learnt[:, 1:].float()
    if prompt_weight:
        sampled = real[:, 1:] & (torch.rand(targets.shape) < PROMPT_SAMPLE).to(model.device)
        weights = torch.where(learnt[:, 1:], 1.0, prompt_weight / PROMPT_SAMPLE * sampled)
    counted = weights > 0
    with torch.autocast(model.device.type, dtype=torch.bfloat16):
        hidden = model.model(input_ids=ids[:, :-1], use_cache=False).last_hidden_state
        logits = model.lm_head(hidden[counted])
    losses = torch.nn.functional.cross_entropy(logits.float(), targets[counted], reduction="none")
    chosen = learnt[:, 1:][counted]
    answers = int(chosen.sum())
    weights = weights[counted]
    # Divided by the assistant tokens alone, so that their rate of learning does not depend on the prompts.
    return (losses * weights).sum() / answers, answers, float(losses.detach()[chosen].sum())


def make_optimizers(spec: FitSpec, model: LlamaForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon on the matrices of the layers, AdamW on embeddings and norms."""
    matrices = [value for name, value in model.named_parameters() if value.ndim == 2 and "embed" not in name]
    matrices = [value for value in matrices if value is not model.lm_head.weight]
    chosen = {id(value) for value in matrices}
    others = [value for value in model.parameters() if id(value) not in chosen]
    return [
        torch.optim.Muon(matrices, lr=spec.matrix_rate, momentum=0.95, weight_decay=spec.weight_decay),
        torch.optim.AdamW(others, lr=spec.other_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def set_rates(spec: FitSpec, optimizers: list[torch.optim.Optimizer], step: int) -> None:
    """Linear warm-up, then constant, then linear decay over the last part of the steps."""
    left = (spec.steps - step) / max(1.0, spec.decay * spec.steps)
    factor = min(1.0, (step + 1) / max(1, spec.warm_up), left)
    for optimizer, rate in zip(optimizers, (spec.matrix_rate, spec.other_rate), strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate * factor


@lru_cache(maxsize=2)
def load_data(
    files: tuple[str, ...], tokenizer_folder: str, limit: int, shares: tuple[tuple[str, float], ...], tokens: int
) -> tuple[PreTrainedTokenizerFast, Batches]:
    """(tokenizer, Batches), kept for the next window of the same process. Raises SpecError or BadRow."""
    tokenizer = load_tokenizer(tokenizer_folder)
    examples, names = [], []
    for file in files:
        for conversation in read_conversations(Path(file)):
            example = encode(conversation, tokenizer, limit)
            if example is not None:
                examples.append(example)
                names.append(conversation.dataset)
    return tokenizer, Batches(examples, names, dict(shares), tokens)


def load_tokenizer(folder: str) -> PreTrainedTokenizerFast:
    """The tokenizer in a folder; nothing is downloaded. Raises SpecError when there is none."""
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise SpecError(f"No tokenizer in '{folder}': {str(error).partition(chr(10))[0]}") from None


def _hashable(shares: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(shares.items()))
