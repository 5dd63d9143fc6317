"""Fits of a few steps: conversations, tokenizers and bases of many kinds, made by a script."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.prompts.conversations import Conversation
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.training.engine.spec import MUON, FitSpec, ModelShape

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SHAPE = ModelShape(hidden=32, layers=2, heads=2, feed_forward=48, positions=128)
PHRASES = ("<|user|>\n", "\n<|assistant|>\n")


def conversation(number: int) -> Conversation:
    """Two exchanges about adding; of 40 conversations some are twice as long as others."""
    question = f"Add {number} and {'one ' * (number % 7)}{number + 1}."
    turns = (
        Turn("user", question),
        Turn("assistant", f"It is {2 * number + 1}."),
        Turn("user", "Go on."),
        Turn("assistant", "That is all."),
    )
    return Conversation(f"{'even' if number % 2 == 0 else 'odd'}/planner", str(number), turns)


def own_tokenizer() -> PreTrainedTokenizerBase:
    from lumos_queue.training.tokenizer import train_tokenizer

    return train_tokenizer((conversation(number).text() for number in range(40)), 300, PHRASES)


def write_fit(folder: Path, tokenizer: PreTrainedTokenizerBase, rows: int = 40, development: int = 10) -> None:
    """Tokenizer and encoded conversations of a fit in `folder`."""
    from lumos_queue.training.engine.data import DEV, TRAIN, write_examples
    from lumos_queue.training.engine.masks import encode

    tokenizer.save_pretrained(folder / "tokenizer")
    for name, numbers in ((TRAIN, range(rows)), (DEV, range(rows, rows + development))):
        examples = (encode(conversation(number), tokenizer, 128)[0] for number in numbers)
        write_examples((example for example in examples if example is not None), folder / name)


def small_spec(folder: Path, **values: Any) -> FitSpec:
    """Five steps an epoch, three epochs, from random weights."""
    common: dict[str, Any] = {
        "data": str(folder),
        "tokenizer": str(folder / "tokenizer"),
        "shape": SHAPE,
        "epochs": 3,
        "batch": 8,
        "micro_batch": 4,
        "optimizer": MUON,
        "rate": 0.02,
        "other_rate": 0.004,
        "weight_decay": 0.05,
        "warm_up": 0.1,
        "decay": 0.6,
        "dropout": 0.1,
        "prompt_weight": 0.1,
        "precision": "fp32",
    }
    return FitSpec(**{**common, **values})


def write_llama(folder: Path, tokenizer: PreTrainedTokenizerBase, *, tied: bool = False, shards: str = "5GB") -> Path:
    """A Llama with grouped queries and random weights, and its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=256,
        tie_word_embeddings=tied,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    torch.manual_seed(5)
    LlamaForCausalLM(config).save_pretrained(folder, max_shard_size=shards)
    tokenizer.save_pretrained(folder)
    return folder


def random_conversation(source: random.Random) -> Conversation:
    """Turns of random words, digits, signs, line breaks, spaces and scripts."""
    words = (
        "Add",
        "12",
        "007",
        "ß",
        "数",
        "🙂",
        "\n",
        "  ",
        "a\tb",
        "-",
        "R1 = Calculator(2 + 3)",
        "<|",
        "|>",
        "</",
        "x",
    )
    turns = []
    for index in range(2 * source.randint(1, 4)):
        text = " ".join(source.choice(words) for _ in range(source.randint(1, 12))).strip() or "x"
        turns.append(Turn(("user", "assistant")[index % 2], text))
    return Conversation("random/planner", "1", tuple(turns))
