"""What the sources of maths word problems share: their benchmark reads, converts by rule and judges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumos_queue.benchmarks.base import Tried
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import BadRow
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task


class MathsSource(Source):
    """A source whose rows a benchmark reads."""

    domain = "maths"
    prompt = "maths"
    level = "executed"

    def __init__(self, name: str):
        self.benchmark = benchmark = open_benchmark(name)
        self.name, self.licence = name, benchmark.licence
        self.splits, self.needs_data = benchmark.splits, benchmark.needs_data

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return self.benchmark.read(path, split)

    def gold(self, task: Task) -> Annotation:
        return self.benchmark.gold(task)

    def right(self, task: Task, answer: str | None) -> bool:
        """Whether the benchmark's main metric takes it."""
        return self.benchmark.score(task, Tried(answer))[0].value == 1.0


def doubtful_operands(source: Source, task: Task) -> int:
    """Operands of the gold program that may as well be another value; 0 when there is no gold program."""
    try:
        gold = source.gold(task)
    except NotConvertible:
        return 0
    return len(ambiguous_operands(gold.steps, task.question, source.plan(task)))
