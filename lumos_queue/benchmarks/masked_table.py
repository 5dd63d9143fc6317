"""The CSV form in which the SVAMP repository publishes MAWPS, SVAMP and ASDiv, with masked numbers; an invented row:

    Question,Numbers,Equation,Answer,…
    A rope is number0 metres long . How long are number1 ropes ?,2.5 4.0,* number0 number1,10,…

The question shown is the row's with its numbers filled in (`8.0` reads 8) and the spaces that tokenising left before
punctuation taken out; letter case stays as it is. The equation is in prefix form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.rows import number_field, plain_number, table, tasks, text_field
from lumos_queue.records import Task
from lumos_queue.scoring.numeric import read_number

COLUMNS = ("Question", "Numbers", "Equation", "Answer")
FORMAT = f"a CSV file with the columns {', '.join(COLUMNS)}"
_MASK = re.compile(r"\bnumber([0-9]{1,3})\b")
_SPACE_BEFORE = re.compile(r"(?<!\s)\s++(?=[.,;:?!%)](?:\s|$)|'s\b|n't\b|'ve\b|'(?:\s|$))")


def read_masked_table(benchmark: str, path: Path | None) -> Iterator[Task | BadRow]:
    """The tasks of such a file. Raises SpecError when it is another one."""
    return tasks(table(path, FORMAT, COLUMNS), lambda row, record: masked_task(benchmark, row, record))


def masked_task(benchmark: str, row: int, record: Mapping[str, Any]) -> Task:
    """The task of a row with masked numbers, numbers filled in. Raises BadRow."""
    numbers = [read_number(number) for number in text_field(record, row, "Numbers").split()]
    if None in numbers:
        raise BadRow(row, "Numbers", "expected numbers separated by spaces")
    shown = [plain_number(number) for number in numbers if number is not None]

    def fill(field: str) -> str:
        def value(mask: re.Match[str]) -> str:
            if int(mask[1]) >= len(shown):
                raise BadRow(row, field, f"'{mask[0]}', but 'Numbers' has {len(shown)}")
            return shown[int(mask[1])]

        return _MASK.sub(value, text_field(record, row, field))

    question = _SPACE_BEFORE.sub("", fill("Question")).strip()
    gold = {"answer": number_field(record, row, "Answer"), "equation": fill("Equation")}
    return Task(benchmark, "", str(row), question, gold=gold)
