"""Joins words or phrases as an English enumeration."""

from __future__ import annotations

from collections.abc import Sequence


def enumerate_words(parts: Sequence[str]) -> str:
    """Join the parts: `a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
