"""The domain of questions about an image. Its grounder's instruction was not published: it is generated instead."""

from __future__ import annotations

from lumos_queue.domains.base import Domain

DOMAIN = Domain(
    name="multimodal",
    interface="lumos_queue.actions.vision.interface:VisionActions",
    session="lumos_queue.actions.vision.interface:VisionSession",
    action_names=("QA", "VQA"),
    shows_earlier=True,
)
