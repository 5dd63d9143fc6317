"""Tokenizers of three families, made in a second from what OpenAGI's tasks say and their plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.openagi.tasks import TASKS

PHRASES = ("<|user|>\n", "\n<|assistant|>\n")
LINES = [line for task in TASKS for line in (task.description, task.plan.write())] + ["Ann Bob Cy Di"] * 5


def own_tokenizer() -> Any:
    """The project's: byte-level, and neighbouring marks are one token where they are frequent."""
    from lumos_queue.training.tokenizer import train_tokenizer

    return train_tokenizer(LINES, 500, PHRASES)


def t5_tokenizer(folder: Path) -> Any:
    """As T5's: SentencePiece with unigrams, a space put in front."""
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 5}
    options = {
        "model_type": "unigram",
        "vocab_size": 300,
        "pad_id": 0,
        "eos_id": 1,
        "unk_id": 2,
        "bos_id": -1,
        "character_coverage": 1,
    }
    return _sentencepiece(folder, "spiece", settings, options)


def llama_tokenizer(folder: Path) -> Any:
    """As LLaMA's: SentencePiece with pairs and bytes, a space put in front."""
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}
    options = {
        "model_type": "bpe",
        "vocab_size": 600,
        "byte_fallback": True,
        "split_digits": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    }
    return _sentencepiece(folder, "tokenizer", settings, options)


def make_crossing_tokenizer() -> Any:
    """Byte-level without any split, so that whole pieces and parts of the next become one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


def _sentencepiece(folder: Path, name: str, settings: dict[str, Any], options: dict[str, Any]) -> Any:
    import sentencepiece
    from transformers import AutoTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(folder / name), hard_vocab_limit=False, minloglevel=2, **options
    )
    tokens = {"eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, **tokens}))
    return AutoTokenizer.from_pretrained(folder)
