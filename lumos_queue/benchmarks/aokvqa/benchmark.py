"""A-OKVQA: questions about photographs that need knowledge beside what is seen, with four choices (conversion/sources
reads the rows). The task an agent gets:

    What is on the mat? There're some choices: A. dog, B. shoe, C. cat, D. cup.

LUMOS reports the validation split. The test file has no answers: its rows can be inferred on, not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lumos_queue.benchmarks.aokvqa.source import AOKVQA as Rows
from lumos_queue.benchmarks.base import Benchmark, Tried
from lumos_queue.benchmarks.choices import METRICS, choice_baselines, choice_scores
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Score, Task


class AOKVQA(Benchmark):
    name = "aokvqa"
    domain = "multimodal"
    licence = "Apache-2.0"
    splits = ("train", "val", "test")
    metrics = METRICS
    options = Rows.options

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        rows, without = Rows(), 0
        for row in rows.read(path, split, **options):
            without += isinstance(row, Task) and not row.gold["answer"]
            yield row
        self.artifacts, self.notes = rows.artifacts, rows.notes
        self.unjudged = (
            f"{without} rows of '{path}' state no answer: evaluate the val file, or infer only." if without else ""
        )

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        if not task.gold["answer"]:
            raise SpecError(f"Row '{task.row}' of A-OKVQA states no answer: evaluate the val file, or infer only.")
        return choice_scores(task, tried.answer)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return choice_baselines(tasks)


benchmark = AOKVQA()
