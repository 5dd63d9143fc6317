"""Scorers by name."""

from __future__ import annotations

from lumos_queue.review.scorers.base import Scorer
from lumos_queue.util.registry import Registry

SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {
        "same_words": "lumos_queue.review.scorers.same_words:SAME_WORDS",
        "other_reader": "lumos_queue.review.scorers.remade:OTHER_READER",
        "numbers": "lumos_queue.review.scorers.remade:NUMBERS",
    },
    "scorers",
    Scorer,
)
