"""Compute the loss on development conversations. This is cheap enough for every window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from lumos_queue.training.engine.data import IGNORED, EncodedConversations
from lumos_queue.training.engine.pairs import reply_losses

if TYPE_CHECKING:
    from lumos_queue.training.engine.trainer import ConversationTrainer

MAX_CONVERSATIONS = 200


def dev_loss(trainer: ConversationTrainer, data: EncodedConversations) -> float | None:
    """Return the mean loss per assistant token of the first conversations, in nats; None if `data` is empty."""
    model: Any = trainer.model
    device, pad = trainer.args.device, trainer.pad
    rows = sorted(
        (data[index] for index in range(min(len(data), MAX_CONVERSATIONS))), key=lambda row: len(row["labels"])
    )
    model.eval()
    total, count = 0.0, 0
    size = trainer.args.per_device_train_batch_size
    with torch.no_grad(), trainer.accelerator.autocast():
        for start in range(0, len(rows), size):
            batch = {name: value.to(device) for name, value in trainer.collate(rows[start : start + size], pad).items()}
            if trainer.pairs:
                pair_losses = reply_losses(model, batch)
                total, count = total + float(pair_losses.sum()), count + len(pair_losses)
                continue
            ids, labels = batch["input_ids"], batch["labels"][:, 1:]
            learnt = labels != IGNORED
            with trainer.head.at(learnt):
                logits = model(input_ids=ids[:, :-1], use_cache=False).logits
            losses = torch.nn.functional.cross_entropy(logits.float(), labels[learnt], reduction="sum")
            total, count = total + float(losses), count + int(learnt.sum())
    return total / count if count else None
