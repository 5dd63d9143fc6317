"""Encode conversations for a fit, and count the conversations that are cut off or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from lumos_queue.prompts.conversations import Conversation
from lumos_queue.training.engine.data import write_examples
from lumos_queue.training.engine.masks import Example, encode
from lumos_queue.training.engine.pairs import encode_pair


def encode_all(
    rows: Iterable[tuple[str, Conversation]],
    tokenizer: PreTrainedTokenizerBase,
    limit: int,
    path: Path,
    counts: Counter[str],
    part: str,
    pairs: bool = False,
) -> None:
    """Write the conversations that can be learnt to `path`, each cut off after `limit` tokens.

    `rows` are pairs (origin, conversation). `counts` gets counts under names that begin with `part`. `pairs`: the model
    is an encoder-decoder (pairs.py), which learns only conversations with one reply.
    """
    examples: list[Example] = []
    for origin, conversation in rows:
        special = special_token_in(conversation, tokenizer)
        if special:
            counts[f"{part}: left out, {special} in its text"] += 1
            continue
        if pairs and len(conversation.turns) > 2:
            counts[f"{part}: left out, more than one reply"] += 1
            continue
        example, was_longer = (encode_pair if pairs else encode)(conversation, tokenizer, limit)
        counts[f"{part}: cut off at {limit:,} tokens"] += was_longer and example is not None
        if example is None:
            counts[f"{part}: left out, no reply within {limit:,} tokens"] += 1
            continue
        examples.append(example)
        counts[f"{part}: {origin}"] += 1
        counts[f"{part}: tokens"] += len(example.ids)
        counts[f"{part}: learnt tokens"] += int(example.learnt.sum())
    path.parent.mkdir(parents=True, exist_ok=True)
    counts[f"{part}: conversations"] += write_examples(examples, path)
    for name in [name for name, count in counts.items() if not count]:
        del counts[name]


def special_token_in(conversation: Conversation, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a special token that occurs in a turn and could end a reply early; '' when there is none."""
    for text in conversation.iterate_texts():
        for token in tokenizer.all_special_tokens:
            if token in text:
                return token
    return ""
