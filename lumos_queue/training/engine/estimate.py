"""Estimate the memory of a fit before its first window, and refuse a fit that cannot fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel

from lumos_queue.endpoints.model_folder import encodes_prompts
from lumos_queue.errors import SpecError
from lumos_queue.training.engine.data import TRAIN, EncodedConversations
from lumos_queue.training.engine.device_memory import available_memory
from lumos_queue.training.engine.fake_fit import PassShape, count_pass, fake_model
from lumos_queue.training.engine.optimizers import muon_with_adamw
from lumos_queue.training.engine.spec import BF16, FP32, MUON, FitSpec, LoraShape
from lumos_queue.util.wording import format_bytes

#: Bytes of a process on a CPU with its libraries, before it loads a model (performance/training_memory.py measures it).
PROCESS = 550_000_000
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
    base: int  #: on a CPU: the process with its libraries, and the encoded conversations
    micro_batch: int  #: conversations in a forward pass, each with as many tokens as the longest
    length: int  #: tokens of the longest conversation; `max_length` if the conversations are not encoded yet
    fits_micro_batch: int | None = None  #: the largest that fits into the memory, at most `micro_batch`; None: unknown

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.base

    def as_json(self) -> dict[str, int | None]:
        return {**asdict(self), "total": self.total}


def estimate_memory(spec: FitSpec, micro_batch: int = 0, ranks: int = 1) -> MemoryEstimate:
    """Estimate the memory of each of `ranks` processes with `micro_batch` conversations in a forward pass (0: spec's).

    Parameters and states of the optimizer are counted exactly, on a model of fake tensors. The activations are those of
    a pass through this model. Each conversation in the pass is as long as the longest, and has as many learnt tokens as
    the one with most; before the conversations are encoded, `max_length` tokens, half of them learnt. If an
    architecture cannot be run with fake tensors, such as a mixture of experts, the activations are those of the formula
    of Korthikanti et al. (2022, arXiv:2205.05198).

    A process also needs memory that is not estimated: on a GPU the CUDA context, and gaps between tensors. Raises
    SpecError for a base that cannot be read.
    """
    micro_batch = min(micro_batch or spec.micro_batch, spec.batch)
    shape, data_bytes = _measure_conversations(spec, micro_batch)
    accumulates = spec.batch > micro_batch * ranks
    with fake_model(spec) as model:
        trained = [value for value in model.parameters() if value.requires_grad]
        weights = sum(map(_size, model.parameters()))
        gradients = sum(map(_size, trained))
        optimizer = _optimizer_bytes(model, spec)
        try:
            peak = count_pass(model, spec, shape, accumulates)
            activations = peak if accumulates else max(0, peak - gradients)
        except Exception:  # third-party code of an architecture can raise anything
            activations = _formula(model, spec, shape)
    buckets = gradients if ranks > 1 else 0  # the copy that ranks exchange
    base = PROCESS + data_bytes if spec.device == "cpu" else 0
    return MemoryEstimate(weights, gradients + buckets, optimizer, activations, base, micro_batch, shape.length)


def check_memory(spec: FitSpec, ranks: int = 1, available: int | None = None) -> MemoryEstimate:
    """Return the estimate of a fit, with the largest micro-batch that fits into `available` bytes.

    `available` is the memory of each of `ranks` processes; None: that of this machine or its smallest GPU. Raises
    SpecError if not even one conversation in a forward pass fits. The message has the options that help.
    """
    available = available_memory(spec.device, ranks) if available is None else available
    estimate = smaller = estimate_memory(spec, ranks=ranks)
    while smaller.total > available:
        if smaller.micro_batch == 1:
            raise SpecError(_refusal(spec, ranks, smaller, available))
        smaller = estimate_memory(spec, smaller.micro_batch // 2, ranks)
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
    matrix_ids = {id(value) for value in matrices}
    others = [value for value in model.parameters() if value.requires_grad and id(value) not in matrix_ids]
    return sum(map(_size, matrices)) + sum(2 * _size(value) + 4 for value in others)


def _formula(model: PreTrainedModel | PeftModel, spec: FitSpec, shape: PassShape) -> int:
    """Return the bytes of activations by the formula of Korthikanti et al., and those of the logits."""
    config = model.config.get_text_config()
    width = 1 if spec.precision == BF16 else 2
    tokens = shape.rows * shape.length
    scores = 5 * config.num_attention_heads * shape.length / config.hidden_size
    layer = tokens * config.hidden_size * (34 + scores) * width
    layers = config.num_hidden_layers
    kept = layer + layers * tokens * config.hidden_size * 2 * width if spec.gradient_checkpointing else layers * layer
    return round(kept) + 3 * 4 * shape.rows * shape.learnt * config.vocab_size


def _refusal(spec: FitSpec, ranks: int, estimate: MemoryEstimate, available: int) -> str:
    remedies = [
        f"{option} ({format_bytes(smaller)})"
        for option, changed in _smaller_fits(spec, estimate.length)
        if (smaller := _total(changed, ranks)) is not None and smaller < 0.95 * estimate.total
    ]
    advice = f": use {' or '.join(remedies)}" if remedies else ""
    where = "this machine has" if spec.device == "cpu" else "the GPU has"
    processes = f" in each of {ranks} processes" if ranks > 1 else ""
    return (
        f"With one conversation of {estimate.length:,} tokens in a forward pass, the fit needs about "
        f"{format_bytes(estimate.total)} of memory{processes}, and {where} {format_bytes(available)}{advice}."
    )


def _smaller_fits(spec: FitSpec, length: int) -> Iterator[tuple[str, FitSpec]]:
    """Yield the options that can make a fit smaller, each with the changed fit."""
    if spec.base and spec.lora is None:
        yield f"--lora {PROPOSED_RANK}", replace(spec, lora=LoraShape(rank=PROPOSED_RANK))
    if length // 2 >= SHORTEST:
        yield f"--max-length {length // 2}", replace(spec, max_length=length // 2)
    if not spec.gradient_checkpointing:
        yield "--gradient-checkpointing", replace(spec, gradient_checkpointing=True)
    if spec.precision == FP32:
        yield "--precision bf16", replace(spec, precision=BF16)


def _total(spec: FitSpec, ranks: int) -> int | None:
    """Return the bytes of a fit with one conversation in a forward pass; None if its model cannot have adapters."""
    with suppress(SpecError):
        return estimate_memory(spec, 1, ranks).total
    return None
