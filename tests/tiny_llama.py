"""A random LLaMA as its authors make one: grouped heads, untied, in shards, and a SentencePiece tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

TEXT = "Tom has 8 apples and gives 3 to Ann. How many apples does Tom have now? Subgoal 1: Subtract 3 from 8.\n" * 50


def make_tiny_llama(folder: Path, pieces: int = 400, positions: int = 512) -> None:
    """Write it to `folder`, which has no tokenizer.json; the weights are the same each time."""
    import sentencepiece
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder.mkdir(parents=True, exist_ok=True)
    text = folder.parent / f"{folder.name}.txt"
    text.write_text(TEXT, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=pieces,
        model_type="bpe",
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        minloglevel=2,
    )
    (folder / "tokenizer.vocab").unlink()
    text.unlink()
    settings = {
        "tokenizer_class": "LlamaTokenizer",
        "add_bos_token": True,
        "add_eos_token": False,
        "legacy": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": positions,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=processor.vocab_size(),
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=positions,
            tie_word_embeddings=False,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(4)
    model.save_pretrained(folder, max_shard_size="100KB")
