"""Questions about an image. The instruction of its grounder was never published: it is made from the session."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="multimodal",
    interface="lumos_queue.actions.vision.interface:VisionActions",
    session="lumos_queue.actions.vision.interface:VisionSession",
    action_names=("QA", "VQA"),
    shows_earlier=True,
)
