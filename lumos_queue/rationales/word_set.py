"""Sets of words for the rules that read English."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, separated at white space."""
    return frozenset(text.split())
