"""Encode conversations for an encoder-decoder model (T5), whose encoder reads prompts and decoder learns replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from lumos_queue.prompts.conversations import Conversation
from lumos_queue.training.engine.data import IGNORED
from lumos_queue.training.engine.masks import Example


def encode_pair(
    conversation: Conversation, tokenizer: PreTrainedTokenizerBase, limit: int
) -> tuple[Example | None, bool]:
    """Encode a conversation with one reply. Return an Example or None, and whether the conversation is too long.

    The tokens of the prompt are not learnt and go to the encoder; the tokens of the reply are learnt. The prompt has
    the tokenizer's special tokens, as at inference, and the reply ends in the end token.
    """
    (prompt, _), _ = conversation.pieces()
    prompt_ids = tokenizer(prompt)["input_ids"]
    reply = tokenizer(conversation.turns[-1].content.strip(), add_special_tokens=False)["input_ids"]
    ids = [*prompt_ids, *reply, tokenizer.eos_token_id]
    learnt = np.arange(len(ids)) >= len(prompt_ids)
    example = Example(np.array(ids[:limit], np.int32), learnt[:limit])
    return (example if example.learnt.any() else None), len(ids) > limit


def pad_pairs(rows: Sequence[dict[str, torch.Tensor]], pad: int) -> dict[str, torch.Tensor]:
    """Return `input_ids` and `attention_mask` of shape (rows, longest prompt), and `labels` of (rows, longest reply).

    `lengths` of shape (rows,) are the tokens of prompt and reply together.
    """
    prompts = [row["input_ids"][row["labels"] == IGNORED] for row in rows]
    replies = [row["labels"][row["labels"] != IGNORED] for row in rows]
    stack: Any = torch.nn.utils.rnn.pad_sequence
    return {
        "input_ids": stack(prompts, batch_first=True, padding_value=pad),
        "attention_mask": stack([torch.ones_like(prompt) for prompt in prompts], batch_first=True),
        "labels": stack(replies, batch_first=True, padding_value=IGNORED),
        "lengths": torch.tensor([len(row["input_ids"]) for row in rows]),
    }


def reply_losses(model: Any, batch: Any) -> torch.Tensor:
    """Return the loss of every token of the replies, the end token included, in nats; shape (tokens,)."""
    labels = batch["labels"]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    logits = model(**inputs, labels=labels, use_cache=False).logits
    learnt = labels != IGNORED
    return torch.nn.functional.cross_entropy(logits[learnt].float(), labels[learnt], reduction="none")
