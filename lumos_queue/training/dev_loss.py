"""The loss on conversations kept for development: cheap enough to compute after every window."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import cast

import torch

from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.training.checkpoints import load_weights
from lumos_queue.training.fit import FitSpec, load_tokenizer, step_loss
from lumos_queue.training.masks import encode
from lumos_queue.training.model import make_model

MAX_CONVERSATIONS = 200  #: about two seconds on one core for the starter


def dev_loss(spec: FitSpec, weights: Path, file: Path) -> float | None:
    """Mean over the assistant tokens of the file's first conversations, in nats; None when there are none.

    `weights` is a checkpoint or a model folder. Raises SpecError when they do not fit.
    """
    tokenizer = load_tokenizer(spec.tokenizer)
    rows = islice(read_conversations(file), MAX_CONVERSATIONS)
    examples = [example for row in rows if (example := encode(row, tokenizer, spec.model.positions)) is not None]
    if not examples:
        return None
    torch.set_num_threads(spec.threads)
    model = make_model(spec.model, tokenizer, spec.seed).eval()
    load_weights(weights, model)
    total, count = 0.0, 0
    examples.sort(key=lambda example: len(example.ids))  # rows of similar length need little padding
    with torch.no_grad():
        for start in range(0, len(examples), 8):
            _, answers, losses = step_loss(model, examples[start : start + 8], cast(int, tokenizer.pad_token_id), 0.0)
            total, count = total + losses, count + answers
    return total / count
