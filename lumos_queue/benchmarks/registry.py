"""Benchmarks by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import unknown

NAMES = (
    "aokvqa", "asdiv", "gsm8k", "hotpotqa", "intercode_sql", "mawps", "mind2web", "musique", "scienceqa",
    "strategyqa", "superni", "svamp", "webshop", "wordmath",
)  # fmt: skip


def open_benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises SpecError for an unknown one, listing the names."""
    if name not in NAMES:
        raise unknown("benchmark", name, NAMES)
    return import_module(f"lumos_queue.benchmarks.{name}.benchmark").benchmark
