"""Scorers by name."""

from __future__ import annotations

from lumos_queue.review.scorers.base import Scorer
from lumos_queue.util.registry import Registry

SCORERS: Registry[Scorer] = Registry(
    "scorer", {"same_words": "lumos_queue.review.scorers.same_words:SAME_WORDS"}, "scorers", Scorer
)
