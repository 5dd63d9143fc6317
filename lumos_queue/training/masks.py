"""Conversations as token ids with a weight for every token that is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerFast

from lumos_queue.prompts.conversations import Conversation


@dataclass(frozen=True, slots=True)
class Example:
    """One conversation as the model sees it."""

    ids: np.ndarray  #: int32, starts with `<s>`
    learnt: np.ndarray  #: bool, same length: tokens of the assistant, its `</s>` and the newline after it


def encode(conversation: Conversation, tokenizer: PreTrainedTokenizerFast, limit: int) -> Example | None:
    """At most `limit` tokens of the conversation; None when it then has nothing to learn.

    Each part is encoded alone: the `train` framing puts the parts' borders where a token ends.
    """
    ids, learnt = [tokenizer.bos_token_id], [False]
    for text, target in conversation.pieces():
        piece = tokenizer(text, add_special_tokens=False)["input_ids"]
        ids += piece
        learnt += [target] * len(piece)
    ids, learnt = ids[:limit], learnt[:limit]
    return Example(np.array(ids, np.int32), np.array(learnt, bool)) if any(learnt) else None


def pad(examples: Sequence[Example], pad_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right-padded (ids, learnt, real), each of shape (examples, longest)."""
    longest = max(len(example.ids) for example in examples)
    ids = np.full((len(examples), longest), pad_id, np.int64)
    learnt = np.zeros(ids.shape, bool)
    real = np.zeros(ids.shape, bool)
    for row, example in enumerate(examples):
        size = len(example.ids)
        ids[row, :size], learnt[row, :size], real[row, :size] = example.ids, example.learnt, True
    return ids, learnt, real
