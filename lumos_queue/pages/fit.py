"""Keep pages small: render a page with smaller and smaller limits until the file is small enough."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.pages.blocks import Document
from lumos_queue.pages.compose import JobsPage, compose
from lumos_queue.pages.limits import LEVELS, MAX_BYTES


def write_small(jobs_page: JobsPage, render: Callable[[Document], str], max_bytes: int = MAX_BYTES) -> bytes:
    """Return the page in UTF-8, at the first level of limits at which it has at most `max_bytes`, or else the last."""
    content = b""
    for limits in LEVELS:
        content = render(compose(jobs_page, limits)).encode()
        if len(content) <= max_bytes:
            break
    return content
