"""Wordmath's training rows, generated once for each process of tests: it takes some ten seconds."""

from __future__ import annotations

from functools import cache

from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.submission.store import Rows, read_rows


@cache
def training_rows() -> Rows:
    """As `lumos convert wordmath` reads them."""
    return read_rows(benchmark, None, "train", False)
