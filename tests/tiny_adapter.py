"""A random LoRA adapter, as training writes one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import model_digests
from lumos_queue.models.tokens import prepare_tokenizer


def make_tiny_adapter(base: Path, folder: Path, phrases: Sequence[str] = ()) -> tuple[Any, Any]:
    """Write an adapter of all matrices to `folder`, and of the rows of `phrases`; returns model and tokenizer.

    The model is peft's, in float32; the weights are the same each time.
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    preparation = prepare_tokenizer(base, phrases)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    torch.manual_seed(1)
    if len(preparation.tokenizer) > model.config.vocab_size:
        model.resize_token_embeddings(len(preparation.tokenizer), mean_resizing=False)
    rows = list(preparation.added) if phrases else None
    adapter = get_peft_model(
        model,
        LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", trainable_token_indices=rows, task_type="CAUSAL_LM"),
    )
    with torch.no_grad():
        for name, weight in adapter.named_parameters():
            if "lora_" in name or "trainable_tokens" in name:
                weight.copy_(0.5 * torch.randn_like(weight))
    adapter.save_pretrained(str(folder), save_embedding_layers=False)
    preparation.tokenizer.save_pretrained(folder)
    metadata = {"base": {"name": base.name, "sha256": model_digests(base)["sha256"]}}
    (folder / "made-from.json").write_text(json.dumps(metadata))
    return adapter.eval(), preparation.tokenizer
