"""Questions about an image. No instruction for its grounder was published: it is generated from the session."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="multimodal",
    interface="lumos_queue.actions.vision.interface:VisionActions",
    session="lumos_queue.actions.vision.interface:VisionSession",
    action_names=("QA", "VQA"),
    shows_earlier=True,
)
