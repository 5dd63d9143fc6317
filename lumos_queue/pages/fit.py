"""Pages that stay small: written with less and less of each text, until the file is no longer than it may be."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.pages.blocks import Document
from lumos_queue.pages.compose import JobsPage, compose
from lumos_queue.pages.limits import LEVELS, MAX_BYTES


def write_small(read: JobsPage, render: Callable[[Document], str], most: int = MAX_BYTES) -> bytes:
    """The page as bytes of UTF-8, at most so many: with the first of the levels that gives that, else with the last."""
    written = b""
    for limits in LEVELS:
        written = render(compose(read, limits)).encode()
        if len(written) <= most:
            break
    return written
