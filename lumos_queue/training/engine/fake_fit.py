"""The model of a fit as fake tensors, which have shapes and types but no memory, and one pass through this model.

torch computes the shapes of all results, so that the memory of a large fit can be counted on a small machine. Tensors
on the device `meta` are not enough: there, autocast does nothing and attention has no fused kernel.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import AutoConfig, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import AttentionInterface

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.model import (
    add_adapters,
    add_dropout,
    auto_class,
    choose_attention,
    is_encoder_decoder,
    load_tokenizer,
    make_model,
    weights_type,
)
from lumos_queue.training.engine.spec import BF16, FitSpec
from lumos_queue.training.engine.tensor_memory import TensorMemory
from lumos_queue.training.engine.trainer import PROMPT_SAMPLE
from lumos_queue.util.model_loading import MODEL_LOADING
from lumos_queue.util.regular_file import check_entries

#: `sdpa` without a mask. A causal pass without padding has none; for fake tensors, whose values cannot be read,
#: transformers would make one.
_CAUSAL = "sdpa_without_mask"
AttentionInterface.register(_CAUSAL, sdpa_attention_forward)


@dataclass(frozen=True, slots=True)
class PassShape:
    """The size of one forward pass, in rows of equal length."""

    rows: int
    length: int  #: tokens of a conversation
    learnt: int  #: tokens of a conversation whose loss is computed


@contextmanager
def fake_model(spec: FitSpec) -> Iterator[PreTrainedModel | PeftModel]:
    """Give a block the model that `load_model` would load; all tensors of the block are fake. No weights are read.

    The random state of torch stays as it is. Raises SpecError for a folder whose configuration or tokenizer cannot be
    read, or that has no modules for adapters.
    """
    with torch.random.fork_rng(devices=[]):
        with torch.device("meta"):  # modules with fake tensors cannot be moved to a device, which adapters are
            model = _make_meta_model(spec)
        with FakeTensorMode(), _without_log():
            fakes: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # tensors of two modules stay the same
            for module in model.modules():
                for name, tensor in (*module._parameters.items(), *module._buffers.items()):
                    if tensor is not None:
                        _, fake = fakes.setdefault(id(tensor), (tensor, _make_fake(tensor)))
                        setattr(module, name, fake)
            yield model


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep torch from printing a traceback for an operation that has no fake form: its exception is enough."""
    log = logging.getLogger(FakeTensorMode.__module__)
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = False


def _make_fake(tensor: torch.Tensor) -> torch.Tensor:
    """Return a fake tensor on the CPU for one on the device `meta`."""
    fake = torch.empty(tensor.shape, dtype=tensor.dtype)
    return torch.nn.Parameter(fake, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else fake


def _make_meta_model(spec: FitSpec) -> PreTrainedModel | PeftModel:
    tokenizer = load_tokenizer(spec.tokenizer)
    attention = choose_attention(spec)
    causal = _CAUSAL if attention == "sdpa" else attention
    new_rows: list[int] = []
    if not spec.base:
        model: Any = make_model(spec.shape, tokenizer, spec.seed, causal)
    else:
        folder = Path(spec.base)
        check_entries(folder)
        try:
            with MODEL_LOADING:
                config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
                make = partial(auto_class(folder).from_config, config, dtype=weights_type(spec))
                try:
                    model = make(attn_implementation=attention if config.is_encoder_decoder else causal)
                except KeyError:  # the architecture has its own attention for each of transformers' names
                    model = make(attn_implementation=attention)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise SpecError(f"No language model in '{folder}': {str(error).partition(chr(10))[0]}") from None
        if spec.lora:
            new_rows = list(range(len(load_tokenizer(spec.base)), len(tokenizer)))
        if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    add_dropout(model, spec.dropout)
    return add_adapters(model, spec.lora, new_rows) if spec.lora else model


def count_pass(model: PreTrainedModel | PeftModel, spec: FitSpec, shape: PassShape, accumulates: bool) -> int:
    """Return the most bytes that one forward and backward pass has at once, besides the weights.

    The gradients are part of it if they arise in this pass; with `accumulates`, they exist before and do not count. The
    tensors of the model may be real or fake.
    """
    model.train()
    if spec.gradient_checkpointing:
        model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
    parameters = list(model.parameters())
    if accumulates:
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
    existing = [
        *parameters,
        *model.buffers(),
        *(parameter.grad for parameter in parameters if parameter.grad is not None),
    ]
    compute_loss = _compute_pair_loss if is_encoder_decoder(model) else _compute_loss
    with TensorMemory(existing) as memory:
        compute_loss(model, spec, shape).backward()
    return memory.peak


def _compute_loss(model: Any, spec: FitSpec, shape: PassShape) -> torch.Tensor:
    """Return the loss as `ConversationTrainer.compute_loss` does, at the first positions instead of a mask's."""
    ids = torch.zeros((shape.rows, shape.length), dtype=torch.int64)
    sample = PROMPT_SAMPLE * (shape.length - shape.learnt) if spec.prompt_weight else 0
    positions = torch.arange(round(shape.rows * (shape.learnt + sample)))
    inner: Any = model.get_base_model() if isinstance(model, PeftModel) else model
    hook = inner.get_output_embeddings().register_forward_pre_hook(
        lambda _, inputs: (inputs[0].flatten(0, 1).index_select(0, positions), *inputs[1:])
    )
    with hook, torch.autocast("cpu", torch.bfloat16, enabled=spec.precision == BF16):
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits.float()
    return torch.nn.functional.cross_entropy(logits, torch.zeros_like(positions), reduction="none").sum()


def _compute_pair_loss(model: Any, spec: FitSpec, shape: PassShape) -> torch.Tensor:
    """Return the loss as `reply_losses` does. The encoder reads the tokens that are not learnt."""
    prompts = torch.zeros((shape.rows, shape.length - shape.learnt), dtype=torch.int64)
    labels = torch.zeros((shape.rows, shape.learnt), dtype=torch.int64)
    inputs = {"input_ids": prompts, "attention_mask": torch.ones_like(prompts), "labels": labels}
    with torch.autocast("cpu", torch.bfloat16, enabled=spec.precision == BF16):
        logits = model(**inputs, use_cache=False).logits.float()
    chosen = logits.flatten(0, 1).index_select(0, torch.arange(shape.rows * shape.learnt))
    return torch.nn.functional.cross_entropy(chosen, labels.flatten(), reduction="none").sum()
