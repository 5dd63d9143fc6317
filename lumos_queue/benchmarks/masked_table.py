"""Read tables with masked numbers, the form of MAWPS, SVAMP and ASDiv in the SVAMP repository; an invented row:

    Question,Numbers,Equation,Answer,…
    A rope is number0 metres long . How long are number1 ropes ?,2.5 4.0,* number0 number1,10,…

In the question of a task, the numbers replace the masks (`8.0` becomes 8), and the tokeniser's spaces before
punctuation are removed. The equation is in prefix form, and only conversions use it.
The tables are published as CSV; they can be read from every format of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import CONVERTING, ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import number_field, plain_number, tasks, text_field
from lumos_queue.records import Task
from lumos_queue.scoring.numeric import read_number

COLUMNS = ("Question", "Answer")
FORMAT = "a table (CSV, or rows as JSON) with the columns Question, Numbers, Answer and, to convert, Equation"
_MASK = re.compile(r"\bnumber([0-9]{1,3})\b")
_SPACE_BEFORE = re.compile(r"(?<!\s)\s++(?=[.,;:?!%)](?:\s|$)|'s\b|n't\b|'ve\b|'(?:\s|$))")


def read_masked_table(
    benchmark: str, path: Path | None, conversion: ConversionFields = CONVERTING
) -> Iterator[Task | BadRow]:
    """Yield the tasks of a table with masked numbers. Raises SpecError for a file of another format."""
    rows = read_records(path, FORMAT, COLUMNS)
    return tasks(rows, lambda row, record: read_masked_task(benchmark, row, record, conversion))


def read_masked_task(
    benchmark: str, row: int, record: Mapping[str, Any], conversion: ConversionFields = CONVERTING
) -> Task:
    """Return the task of a row, with the numbers in place of the masks. Raises BadRow."""
    node = RowNode(row, "", record)
    numbers = _read_numbers(node) if "Numbers" in node else []

    def fill(field: str) -> str:
        def value(mask: re.Match[str]) -> str:
            if int(mask[1]) >= len(numbers):
                raise BadRow(row, field, f"'{mask[0]}', but 'Numbers' has {len(numbers)}")
            return numbers[int(mask[1])]

        return _MASK.sub(value, text_field(record, row, field))

    question = _SPACE_BEFORE.sub("", fill("Question")).strip()
    gold = {"answer": number_field(record, row, "Answer")}
    if equation := conversion.read(lambda: fill("Equation") if "Equation" in node else "", ""):
        gold["equation"] = equation
    return Task(benchmark, "", str(row), question, gold=gold)


def _read_numbers(node: RowNode) -> list[str]:
    """Return the numbers as the question writes them. The field has a number, or a text of numbers. Raises BadRow."""
    numbers_node = node["Numbers"]
    if isinstance(numbers_node.value, (int, float)):
        return [numbers_node.label()]
    numbers = [read_number(number) for number in text_field(node.value, node.row, "Numbers").split()]
    if None in numbers:
        raise numbers_node.bad("expected numbers separated by spaces")
    return [plain_number(number) for number in numbers if number is not None]
