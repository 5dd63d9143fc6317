"""Several words or phrases, joined as English joins them."""

from __future__ import annotations

from collections.abc import Sequence


def enumerate_words(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
