"""SVAMP: elementary word problems with small variations. `SVAMP.json` as published, or its masked CSV form;
an invented row:

    {"ID": "chal-0", "Body": "A kite costs 40 dollars. If there are …", "Question": "How much does it cost now?",
     "Equation": "( 40.0 - 13.0 )", "Answer": 27.0, "Type": "Subtraction"}

The question shown is `Body + " " + Question`, as the LUMOS evaluation joined them; no dot is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.masked_table import read_masked_table
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.readers.rows import first_character, json_list, number_field, tasks, text_field
from lumos_queue.records import Task

FIELDS = ("ID", "Body", "Question", "Equation", "Answer")
FORMAT = "SVAMP.json, a JSON list of objects with 'ID', 'Body', 'Question', 'Equation' and 'Answer', or its CSV form"


class SVAMP(EquationProblems):
    name = "svamp"
    licence = "MIT"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        if first_character(path, FORMAT) in "[{":
            yield from tasks(json_list(path, FORMAT, FIELDS), self._task)
        else:
            yield from read_masked_table(self.name, path)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        body, question = text_field(record, row, "Body"), text_field(record, row, "Question")
        gold = {"answer": number_field(record, row, "Answer"), "equation": text_field(record, row, "Equation")}
        return Task(self.name, "", text_field(record, row, "ID"), f"{body} {question}", gold=gold)


benchmark = SVAMP()
