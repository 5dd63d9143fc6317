"""MAWPS in the form of the SVAMP repository: rows with masked numbers (benchmarks/masked_table.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lumos_queue.benchmarks.masked_table import read_masked_table
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import ConversionFields
from lumos_queue.records import Task


class MAWPS(EquationProblems):
    name = "mawps"
    licence = "MIT"

    def _rows(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        return read_masked_table(self.name, path, conversion)


benchmark = MAWPS()
