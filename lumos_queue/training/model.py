"""A small Llama with random weights, and its export."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

#: Of an attention or feed-forward block: the hidden states, alone or first in a tuple.
Output = torch.Tensor | tuple[Any, ...]


@dataclass(frozen=True)
class ModelSpec:
    """The shape of a Llama with tied embeddings."""

    hidden: int = 192
    layers: int = 4
    heads: int = 3
    feed_forward: int = 512
    positions: int = 1024  #: longest conversation, in tokens


def make_model(spec: ModelSpec, tokenizer: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """A model with random float32 weights; the same seed gives the same weights."""
    options: dict[str, Any] = {  # a dict, because LlamaConfig's signature is narrower than what it takes
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        # On a CPU the backward pass of bfloat16 `sdpa` is slower than plain matrix products.
        "attn_implementation": "eager",
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=spec.hidden,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        num_key_value_heads=spec.heads,
        intermediate_size=spec.feed_forward,
        max_position_embeddings=spec.positions,
        tie_word_embeddings=True,
        **options,
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config)


def add_dropout(model: LlamaForCausalLM, rate: float) -> None:
    """Drop `rate` of what each attention and feed-forward block adds, in training mode only.

    Llama itself has no residual dropout.
    """

    def drop(_module: torch.nn.Module, _inputs: tuple[Any, ...], output: Output) -> Output:
        first = output[0] if isinstance(output, tuple) else output
        dropped = torch.nn.functional.dropout(first, rate, model.training)
        return (dropped, *output[1:]) if isinstance(output, tuple) else dropped

    if rate:
        for layer in model.model.layers:
            layer.get_submodule("self_attn").register_forward_hook(drop)
            layer.get_submodule("mlp").register_forward_hook(drop)


def export(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> Path:
    """Write a folder that `AutoModelForCausalLM`, `AutoTokenizer` and every LUMOS endpoint can load.

    Weights are bfloat16 on disk: half the size, the range of float32. The model given is left as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    half = LlamaForCausalLM(model.config).bfloat16()
    half.load_state_dict({name: value.to(torch.bfloat16) for name, value in model.state_dict().items()})
    half.generation_config = GenerationConfig(
        bos_token_id=model.config.bos_token_id,
        eos_token_id=model.config.eos_token_id,
        pad_token_id=model.config.pad_token_id,
        do_sample=False,
        max_new_tokens=512,
    )
    logging.disable_progress_bar()
    half.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.glob("*.safetensors"):
        file.chmod(0o644)  # written readable by the owner only, but every worker reads the model
    return folder
