"""ASDiv: the rationale is the row's formula as it stands, `9-4=5; 5+7=12` (lumos_queue.benchmarks.asdiv.benchmark)."""

from __future__ import annotations

from lumos_queue.benchmarks.mawps.source import equation_in_words
from lumos_queue.benchmarks.word_problems import MathsSource, doubtful_operands
from lumos_queue.records import Task


class ASDiv(MathsSource):
    def plan(self, task: Task) -> str:
        return task.gold["formula"] if "formula" in task.gold else equation_in_words(task)

    def ambiguous(self, task: Task) -> int:
        """Only a run of equations leaves open which of its numbers are earlier results."""
        return doubtful_operands(self, task) if ";" in task.gold.get("formula", "") else 0


source = ASDiv("asdiv")
