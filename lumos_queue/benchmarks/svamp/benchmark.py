"""SVAMP: elementary word problems with small variations. `SVAMP.json` as published, or its masked CSV form;
an invented row:

    {"ID": "chal-0", "Body": "A kite costs 40 dollars. If there are …", "Question": "How much does it cost now?",
     "Equation": "( 40.0 - 13.0 )", "Answer": 27.0, "Type": "Subtraction"}

The question shown is `Body + " " + Question`, as the LUMOS evaluation joined them; no dot is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, Tried
from lumos_queue.benchmarks.mawps.benchmark import masked_rows, masked_task
from lumos_queue.errors import BadRow
from lumos_queue.rationales.maths import equations
from lumos_queue.readers.rows import first_character, json_list, number_field, tasks, text_field
from lumos_queue.records import Annotation, Score, Task
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import numeric_scores

FIELDS = ("ID", "Body", "Question", "Equation", "Answer")
FORMAT = "SVAMP.json, a JSON list of objects with 'ID', 'Body', 'Question', 'Equation' and 'Answer', or its CSV form"


class SVAMP(Benchmark):
    name = "svamp"
    domain = "maths"
    licence = "MIT"
    splits = ("train", "dev", "test")
    metrics = ("accuracy", "strict")

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        if first_character(path, FORMAT) in "[{":
            yield from tasks(json_list(path, FORMAT, FIELDS), self._task)
        else:
            yield from tasks(masked_rows(path), lambda row, record: masked_task(self.name, row, record))

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        body, question = text_field(record, row, "Body"), text_field(record, row, "Question")
        gold = {"answer": number_field(record, row, "Answer"), "equation": text_field(record, row, "Equation")}
        return Task(self.name, "", text_field(record, row, "ID"), f"{body} {question}", gold=gold)

    def gold(self, task: Task) -> Annotation:
        return equations.annotate(task.question, task.gold["equation"], task.gold["answer"])

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        return numeric_scores(tried.answer, task.gold["answer"], tried.ending)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return numeric_baselines(tasks, lambda task: task.gold["answer"])


benchmark = SVAMP()
