"""MAWPS as the SVAMP repository publishes it: CSV with masked numbers (benchmarks/masked_table.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumos_queue.benchmarks.masked_table import read_masked_table
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.records import Task


class MAWPS(EquationProblems):
    name = "mawps"
    licence = "MIT"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return read_masked_table(self.name, path)


benchmark = MAWPS()
