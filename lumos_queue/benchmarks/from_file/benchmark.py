"""A benchmark that is made of a definition: its rows come from a file, and everything else is in the definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.from_file.definition import OWN, FileDefinition
from lumos_queue.errors import BadRow
from lumos_queue.records import Score, Task


class FileBenchmark(Benchmark):
    """The benchmark of a file. `definition` is stored in the spec of each of its jobs.

    A task's `gold` has `answer` (the first right answer), `answers` (all of them), `choices`, `rationale`, and `meta`:
    the other columns of its row. No formulation sees any of this.
    """

    splits = (OWN, "train", "dev", "test")

    def __init__(self, definition: FileDefinition):
        self.definition = definition
        self.name, self.domain, self.licence = definition.name, definition.domain, definition.licence

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        raise NotImplementedError

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        raise NotImplementedError
