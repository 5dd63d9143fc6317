"""The first of wordmath's training rows: all 20,000 take ten seconds to generate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.downloads.catalogue import GENERATED
from lumos_queue.submission.store import Rows
from tests.integration.rollout_jobs import rows_of

MANY = 100


@cache
def read_training_rows() -> Rows:
    """Read the first hundred rows as `lumos convert wordmath` does."""
    return replace(rows_of(benchmark, generate("train", MANY), "train"), published=GENERATED)
