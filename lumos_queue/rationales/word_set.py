"""Lists of words as sets, for the rules that read English."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which white space separates."""
    return frozenset(text.split())
