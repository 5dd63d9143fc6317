"""GSM8K: grade-school word problems. JSON lines as published (openai/grade-school-math); an invented row:

    {"question": "Ida sold 36 tarts on …", "answer": "Ida sold 36/3 = <<36/3=12>>12 tarts …\\n…\\n#### 48"}

In the socratic files each line of the answer is `sub-question ** step`. The gold answer stands after `####`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, Tried
from lumos_queue.benchmarks.gsm8k import rationale as conversion
from lumos_queue.errors import BadRow
from lumos_queue.readers.rows import json_lines, plain_number, tasks, text_field
from lumos_queue.records import Annotation, Score, Task
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import numeric_scores, read_number

FORMAT = "GSM8K's JSON lines with 'question' and 'answer' (train.jsonl, test.jsonl or their socratic forms)"


class GSM8K(Benchmark):
    name = "gsm8k"
    domain = "maths"
    licence = "MIT"
    splits = ("train", "test")
    metrics = ("accuracy", "strict")

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(json_lines(path, FORMAT, ("question", "answer")), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        question, solution = text_field(record, row, "question"), text_field(record, row, "answer")
        steps, mark, stated = solution.rpartition("####")
        answer = read_number(stated)
        if not mark or answer is None:
            raise BadRow(row, "answer", "expected a last line '#### <number>'")
        return Task(
            self.name, "", str(row), question, gold={"answer": plain_number(answer), "solution": steps.rstrip()}
        )

    def gold(self, task: Task) -> Annotation:
        return conversion.annotate(task.question, task.gold["solution"], task.gold["answer"])

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        return numeric_scores(tried.answer, task.gold["answer"], tried.ending)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return numeric_baselines(tasks, lambda task: task.gold["answer"])


benchmark = GSM8K()
