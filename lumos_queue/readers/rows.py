"""Make tasks of the rows of data files: fields must have text or a number, and ids must be unique.

`read_records` reads and counts the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.source import Row, describe_value
from lumos_queue.records import Task
from lumos_queue.scoring.numbers import show_number
from lumos_queue.scoring.numeric import read_number
from lumos_queue.util.sanitize import storable

MAX_ROW_NAME = 200  #: characters of a row's own id


def text_field(record: Mapping[str, Any], row: int, name: str) -> str:
    """Return the text of a field, made storable. Raises BadRow for a field that is missing, blank or not text."""
    if (value := record.get(name)) is None:
        raise BadRow(row, name, "missing")
    if not isinstance(value, str):
        raise BadRow(row, name, f"expected text, found {describe_value(value)}")
    if not value or value.isspace():
        raise BadRow(row, name, "empty")
    return storable(value)[0]


def number_field(record: Mapping[str, Any], row: int, name: str) -> str:
    """Return the number that a field has, or has as text, in plain form: `8` for `8.0`. Raises BadRow for others."""
    if (value := record.get(name)) is None:
        raise BadRow(row, name, "missing")
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    number = read_number(text) if isinstance(text, str) else None
    if number is None:
        raise BadRow(row, name, f"expected a number, found {describe_value(value)}")
    return plain_number(number)


def plain_number(value: Fraction) -> str:
    return show_number(value, decimal=True)


class _RowNames:
    """The names of earlier rows. Most names are small numbers; each takes a byte of memory instead of a text."""

    def __init__(self) -> None:
        self._numbers, self._names = bytearray(), set[str]()

    def add(self, name: str) -> bool:
        """Add a name; return whether it is new."""
        number = _small_number(name)
        if number < 0:
            new = name not in self._names
            self._names.add(name)
            return new
        if number >= len(self._numbers):
            self._numbers.extend(bytes(number + 1 - len(self._numbers)))
        new, self._numbers[number] = not self._numbers[number], 1
        return new


def _small_number(name: str) -> int:
    """Return the number that a name of up to seven digits writes; -1 for other names, such as `07`."""
    if len(name) <= 7 and name.isascii() and name.isdecimal() and (name[0] != "0" or name == "0"):
        return int(name)
    return -1


def tasks(rows: Iterator[Row | BadRow], to_task: Callable[[int, Mapping[str, Any]], Task]) -> Iterator[Task | BadRow]:
    """Yield the task of each row, or a BadRow. A repeated row id is a BadRow, because results refer to row ids."""
    names = _RowNames()
    for item in rows:
        if isinstance(item, BadRow):
            yield item
            continue
        row, record = item
        try:
            task = to_task(row, record)
            if len(task.row) > MAX_ROW_NAME:
                raise BadRow(row, "ID", f"'{task.row[:40]}' longer than {MAX_ROW_NAME} characters")
            if not names.add(task.row):
                raise BadRow(row, "ID", f"'{task.row[:40]}' occurs twice")
        except BadRow as bad:
            yield bad
        else:
            yield task
