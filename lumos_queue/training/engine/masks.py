"""Encode conversations as token ids, with a mark on every token that is learnt (spec 3.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerBase

from lumos_queue.prompts.conversations import Conversation


@dataclass(frozen=True, slots=True)
class Example:
    """One conversation as token ids, with a mark on the tokens that are learnt."""

    ids: np.ndarray  #: int32, with the tokenizer's own first token
    learnt: np.ndarray  #: bool, same length: tokens of the assistant, its `</s>` and the newline after it


def encode(conversation: Conversation, tokenizer: PreTrainedTokenizerBase, limit: int) -> tuple[Example | None, bool]:
    """Return the first `limit` tokens of the conversation, and whether it is longer.

    The example is None when these tokens have nothing to learn. Text up to the start and up to the end of each piece is
    encoded; the difference is the tokens of the piece. Encoded alone, a piece may have other tokens, because
    SentencePiece puts a space in front of every text.
    """
    pieces = list(conversation.pieces())
    prefixes, text = [], ""
    for piece, _ in pieces:
        text += piece
        prefixes.append(text)
    prefix_ids = tokenizer(prefixes)["input_ids"]
    ids = prefix_ids[-1]
    learnt = np.zeros(len(ids), bool)
    start = len(tokenizer("")["input_ids"])
    for (_, is_learnt), prefix in zip(pieces, prefix_ids, strict=True):
        learnt[start : len(prefix)] = is_learnt
        start = len(prefix)
    example = Example(np.array(ids[:limit], np.int32), learnt[:limit])
    return (example if example.learnt.any() else None), len(ids) > limit
