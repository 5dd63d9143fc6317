"""Estimate the memory of a fit before its first window, and refuse a fit that cannot fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from transformers import PreTrainedModel

from lumos_queue.endpoints.model_folder import encodes_prompts
from lumos_queue.errors import SpecError
from lumos_queue.training.engine.data import TRAIN, EncodedConversations
from lumos_queue.training.engine.device_memory import available_memory, total_memory
from lumos_queue.training.engine.fake_fit import PassShape, count_pass, fake_model
from lumos_queue.training.engine.optimizers import muon_with_adamw
from lumos_queue.training.engine.spec import BF16, FP32, MUON, FitSpec, LoraShape
from lumos_queue.util.wording import format_bytes

#: Bytes of a process on a CPU with its libraries, before it loads a model (performance/training_memory.py measures it).
PROCESS = 550_000_000
#: Bytes of freed blocks that glibc's allocator keeps on a CPU, as a share of activations and gradients. In eight fits
#: (docs/performance.md) it was between 0.3 and 0.9, and the share was chosen on these fits.
GAPS = 0.5
#: Share of the tokens whose loss is computed, if the conversations are not encoded yet.
LEARNT_SHARE = 0.5
#: The rank that the message about too little memory proposes.
PROPOSED_RANK = 16
SHORTEST = 64  #: tokens; the message does not propose shorter conversations


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The memory of one process of a fit in bytes, at the moment when it uses most."""

    weights: int
    gradients: int
    optimizer: int
    activations: int  #: tensors of a forward and backward pass, besides weights and gradients
    gaps: int  #: on a CPU: freed blocks that the C library keeps
    base: int  #: on a CPU: the process with its libraries, and the encoded conversations
    micro_batch: int  #: conversations in a forward pass, each with as many tokens as the longest
    length: int  #: tokens of the longest conversation; `max_length` if the conversations are not encoded yet
    fits_micro_batch: int | None = None  #: the largest that fits into the memory, at most `micro_batch`; None: unknown

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.gaps + self.base

    def as_json(self) -> dict[str, int | None]:
        return {**asdict(self), "total": self.total}


def estimate_memory(spec: FitSpec, micro_batch: int = 0, ranks: int = 1) -> MemoryEstimate:
    """Estimate the memory of each of `ranks` processes with `micro_batch` conversations in a forward pass (0: spec's).

    Parameters and states of the optimizer are counted exactly, on a model of fake tensors. The activations are those of
    a pass through this model. Each conversation in the pass is as long as the longest, and has as many learnt tokens as
    the one with most; before the conversations are encoded, `max_length` tokens, half of them learnt. If an
    architecture cannot be run with fake tensors, such as a mixture of experts, the activations are those of the formula
    of Korthikanti et al. (2022, arXiv:2205.05198).

    On a GPU, the CUDA context and gaps between tensors are not part of the estimate. Raises SpecError for a base that
    cannot be read.
    """
    micro_batch = min(micro_batch or spec.micro_batch, spec.batch)
    shape, data_bytes = _measure_conversations(spec, micro_batch)
    accumulates = spec.batch > micro_batch * ranks
    with fake_model(spec) as model:
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        weights = sum(map(_size, model.parameters()))
        gradients = sum(map(_size, trained))
        optimizer = _optimizer_bytes(model, spec)
        try:
            peak = count_pass(model, spec, shape, accumulates)
            activations = peak if accumulates else max(0, peak - gradients)
        except Exception:  # third-party code of an architecture can raise anything
            activations = _formula(model, spec, shape)
    buckets = gradients if ranks > 1 else 0  # the copy that ranks exchange
    base, gaps = 0, 0
    if spec.device == "cpu":
        base, gaps = PROCESS + data_bytes, round(GAPS * (activations + gradients))
    return MemoryEstimate(
        weights=weights,
        gradients=gradients + buckets,
        optimizer=optimizer,
        activations=activations,
        gaps=gaps,
        base=base,
        micro_batch=micro_batch,
        length=shape.length,
    )


def check_memory(spec: FitSpec, ranks: int = 1, total: int | None = None) -> MemoryEstimate:
    """Return the estimate of a fit, with the largest micro-batch that fits into the memory that is available now.

    `total` is the memory of each of `ranks` processes; None: that of this machine or its smallest GPU. Raises SpecError
    if one conversation in a forward pass is more than that, even without gaps, whose size is not certain. Memory that
    other programs use now may be free later. The message has the options that help.
    """
    available = available_memory(spec.device, ranks) if total is None else total
    total = total_memory(spec.device, ranks) if total is None else total
    estimate = smaller = estimate_memory(spec, ranks=ranks)
    while smaller.total > available and smaller.micro_batch > 1:
        smaller = estimate_memory(spec, smaller.micro_batch // 2, ranks)
    if smaller.total - smaller.gaps > total:
        raise SpecError(_refusal(spec, ranks, smaller, total))
    return replace(estimate, fits_micro_batch=smaller.micro_batch)


def _measure_conversations(spec: FitSpec, rows: int) -> tuple[PassShape, int]:
    """Return the largest pass of the encoded conversations, or that of `max_length`; and the bytes of their file."""
    path = Path(spec.data) / TRAIN
    if not spec.data or not path.exists():
        return PassShape(rows, spec.max_length, round(spec.max_length * LEARNT_SHARE)), 0
    examples = EncodedConversations(path)
    learnt_counts = examples.count_learnt()
    learnt = max(learnt_counts)
    length = max(examples.lengths)
    if spec.base and encodes_prompts(Path(spec.base)):  # prompts and replies are padded separately
        length = learnt + max(total - count for total, count in zip(examples.lengths, learnt_counts, strict=True))
    length = min(length, spec.max_length)
    return PassShape(rows, length, min(learnt, length - 1)), path.stat().st_size


def _size(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _optimizer_bytes(model: PreTrainedModel | PeftModel, spec: FitSpec) -> int:
    """Return the bytes of the optimizer's states: one mean of each matrix with Muon, with AdamW two and a counter."""
    matrices: list[torch.Tensor] = []
    if spec.optimizer == MUON:
        matrices = muon_with_adamw(model, spec.rate, spec.other_rate, spec.weight_decay).param_groups[0]["params"]
    matrix_ids = {id(matrix) for matrix in matrices}
    other_parameters = [
        parameter for parameter in model.parameters() if parameter.requires_grad and id(parameter) not in matrix_ids
    ]
    return sum(map(_size, matrices)) + sum(2 * _size(parameter) + 4 for parameter in other_parameters)


def _formula(model: PreTrainedModel | PeftModel, spec: FitSpec, shape: PassShape) -> int:
    """Return the bytes of activations by the formula of Korthikanti et al., and those of the logits."""
    config = model.config.get_text_config()
    width = 1 if spec.precision == BF16 else 2
    tokens = shape.rows * shape.length
    scores = 5 * config.num_attention_heads * shape.length / config.hidden_size
    layer = tokens * config.hidden_size * (34 + scores) * width
    layers = config.num_hidden_layers
    activations = layers * layer
    if spec.gradient_checkpointing:
        activations = layer + layers * tokens * config.hidden_size * 2 * width
    return round(activations) + 3 * 4 * shape.rows * shape.learnt * config.vocab_size


def _refusal(spec: FitSpec, ranks: int, estimate: MemoryEstimate, available: int) -> str:
    where = "this machine has" if spec.device == "cpu" else "the GPU has"
    processes = f" in each of {ranks} processes" if ranks > 1 else ""
    return (
        f"With one conversation of {estimate.length:,} tokens in a forward pass, the fit needs about "
        f"{format_bytes(estimate.total)} of memory{processes}, and {where} {format_bytes(available)}"
        f"{_advice(spec, ranks, estimate, available)}."
    )


def _advice(spec: FitSpec, ranks: int, estimate: MemoryEstimate, available: int) -> str:
    """Return the options with each of which the fit fits; if there are none, the first options that fit together."""
    changes = list(_smaller_fits(spec, estimate.length))
    totals = {option: _total(replace(spec, **change), ranks) for option, change in changes}
    if fitting := [f"{option} ({format_bytes(int(total))})" for option, total in totals.items() if total <= available]:
        return f": use {' or '.join(fitting)}"
    used: list[str] = []
    smallest = estimate.total
    for option, change in changes:
        if smallest > available and (total := _total(replace(spec, **change), ranks)) < 0.95 * smallest:
            spec, smallest = replace(spec, **change), int(total)
            used.append(option)
    if not used:
        return ""
    verb = "use" if smallest <= available else "too much even with"
    return f": {verb} {' '.join(used)} ({format_bytes(smallest)})"


def _smaller_fits(spec: FitSpec, length: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the options that can make a fit smaller, each with the changed values of the fit."""
    if spec.base and spec.lora is None:
        yield f"--lora {PROPOSED_RANK}", {"lora": LoraShape(rank=PROPOSED_RANK)}
    if not spec.gradient_checkpointing:
        yield "--gradient-checkpointing", {"gradient_checkpointing": True}
    if spec.precision == FP32:
        yield "--precision bf16", {"precision": BF16}
    if length // 2 >= SHORTEST:
        yield f"--max-length {length // 2}", {"max_length": length // 2}


def _total(spec: FitSpec, ranks: int) -> float:
    """Return the bytes of a fit with one conversation in a forward pass; infinity if its model cannot have adapters."""
    with suppress(SpecError):
        return estimate_memory(spec, 1, ranks).total
    return math.inf
