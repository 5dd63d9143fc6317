"""The domain whose actions run expert models on a task's images and texts. Prompts of model synthesis describe them."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="experts",
    interface="lumos_queue.actions.experts.interface:ExpertActions",
    session="lumos_queue.actions.experts.session:ExpertSession",
    experts=True,
    calls=False,  # actions are a name and a JSON list of inputs, and no model writes them
)
