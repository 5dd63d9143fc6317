"""SVAMP: elementary word problems with small variations. `SVAMP.json` as published, or its masked form; an invented
row:

    {"ID": "chal-0", "Body": "A kite costs 40 dollars. If there are …", "Question": "How much does it cost now?",
     "Equation": "( 40.0 - 13.0 )", "Answer": 27.0, "Type": "Subtraction"}

The question of a task is `Body + " " + Question`, without an added dot, as in the LUMOS evaluation. Only conversions
use `Equation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.masked_table import read_masked_task
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import number_field, tasks, text_field
from lumos_queue.records import Task

FIELDS = ("ID", "Body", "Question", "Answer")
FORMAT = "SVAMP.json, rows with 'ID', 'Body', 'Question', 'Equation' and 'Answer', or its form with masked numbers"


class SVAMP(EquationProblems):
    name = "svamp"
    licence = "MIT"

    def _rows(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        rows = read_records(path, FORMAT, FIELDS)
        return tasks(rows, lambda row, record: self._task(row, record, conversion))

    def _task(self, row: int, record: Mapping[str, Any], conversion: ConversionFields) -> Task:
        node = RowNode(row, "", record)
        if "Numbers" in node:
            return read_masked_task(self.name, row, record, conversion)
        body, question = text_field(record, row, "Body"), text_field(record, row, "Question")
        gold = {"answer": number_field(record, row, "Answer")}
        if equation := conversion.read(lambda: node["Equation"].raw_text() if "Equation" in node else "", ""):
            gold["equation"] = equation
        name = node["ID"].label() if "ID" in node else str(row)
        return Task(self.name, "", name, f"{body} {question}", gold=gold)


benchmark = SVAMP()
