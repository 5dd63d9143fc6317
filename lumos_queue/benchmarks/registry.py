"""Benchmarks by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import unknown

NAMES = ("asdiv", "gsm8k", "mawps", "svamp", "wordmath")


def open_benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises SpecError for an unknown one, listing the names."""
    if name not in NAMES:
        raise unknown("benchmark", name, NAMES)
    return import_module(f"lumos_queue.benchmarks.{name}").benchmark
