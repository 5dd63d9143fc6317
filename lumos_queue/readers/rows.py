"""Reading published data files: JSON lines, a JSON list, CSV. Rows come one by one; a bad row is reported.

A row is counted as people count it: JSON lines by line, lists and tables by record, from 1.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Task
from lumos_queue.scoring.numbers import show_number
from lumos_queue.scoring.numeric import read_number
from lumos_queue.util.regular_file import UnusableFile, open_regular, open_regular_text
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

MAX_FIELD_BYTES = 64 * 2**20  #: of one JSON line, or one field of a table
MAX_DOCUMENT_BYTES = 2**30  #: of a JSON list, which must be read as a whole
MAX_ROW_NAME = 200  #: characters of a row's own id
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_BOM = b"\xef\xbb\xbf"

Row = tuple[int, Mapping[str, Any]]


def open_data(path: Path | None, what: str) -> BinaryIO:
    """The file, opened; SpecError when there is none. `what` names the file that is expected."""
    if path is None:
        raise SpecError(f"This benchmark reads {what}: give its path with --data.")
    try:
        return open_regular(path)
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {what}.") from error
    except UnusableFile as error:
        raise SpecError(f"Cannot read '{path}': it {error.problem}. Expected {what}.") from error


def first_character(path: Path | None, what: str) -> str:
    """The first character that is not a space, which tells `{` JSON lines, `[` a JSON list and `<` XML from a table."""
    with open_data(path, what) as file:
        start = file.read(4096).removeprefix(_BOM).lstrip()
    if not start:
        raise SpecError(f"'{path}' is empty. Expected {what}.")
    return start[:1].decode("latin-1")


def json_lines(path: Path | None, what: str, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """One JSON object a line; empty lines are counted and passed over.

    SpecError when the first one is not an object, or has none of the `fields`.
    """
    with open_data(path, what) as file:
        row, good = 0, False
        while line := file.readline(MAX_FIELD_BYTES + 1):
            row += 1
            if len(line) > MAX_FIELD_BYTES:
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_FIELD_BYTES)
                yield BadRow(row, "line", f"longer than {MAX_FIELD_BYTES} bytes")
                continue
            line = line.removeprefix(_BOM) if row == 1 else line
            if not line.strip():
                continue
            record = _json_object(line, row)
            if not good:
                _check_first(record if isinstance(record, BadRow) else (row, record), path, what, fields)
            good = True
            yield record if isinstance(record, BadRow) else (row, record)
        if not good:
            raise SpecError(f"'{path}' has no row. Expected {what}.")


def _check_first(row: Row | BadRow, path: Path | None, what: str, fields: Sequence[str]) -> None:
    if isinstance(row, BadRow):
        raise SpecError(f"'{path}' is not {what}: {row}.")
    if fields and not any(name in row[1] for name in fields):
        found = ", ".join(storable(str(name))[0][:40] for name in list(row[1])[:8])
        raise SpecError(f"'{path}' is not {what}: its first row has the fields: {found or 'none'}.")


def _json_object(line: bytes, row: int) -> Mapping[str, Any] | BadRow:
    try:
        record = read_json(line.decode())
    except UnicodeDecodeError as error:
        return BadRow(row, "line", f"not UTF-8 at byte {error.start}")
    except ValueError as error:
        return BadRow(row, "line", f"not JSON: {error}")
    return record if isinstance(record, dict) else BadRow(row, "line", f"expected a JSON object, found {_kind(record)}")


def json_document(path: Path | None, what: str) -> Any:
    """A file that is one JSON value. SpecError when it is not one, or too large to be read as a whole."""
    with open_data(path, what) as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise SpecError(f"'{path}' is larger than {MAX_DOCUMENT_BYTES} bytes. Expected {what}.")
    try:
        return read_json(data.removeprefix(_BOM).decode())
    except UnicodeDecodeError as error:
        place = data.count(b"\n", 0, error.start) + 1
        raise SpecError(f"'{path}' is not {what}: not UTF-8 at byte {error.start} (line {place}).") from error
    except ValueError as error:
        raise SpecError(f"'{path}' is not {what}: {error}.") from error


def json_list(path: Path | None, what: str, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """The objects of one JSON list. SpecError when the first one is not an object, or has none of the `fields`."""
    records = json_document(path, what)
    if not isinstance(records, list):
        raise SpecError(f"'{path}' is not {what}: found {_kind(records)}.")
    if not records:
        raise SpecError(f"'{path}' has no row. Expected {what}.")
    for row, record in enumerate(records, start=1):
        expected = f"expected a JSON object, found {_kind(record)}"
        item = (row, record) if isinstance(record, dict) else BadRow(row, "row", expected)
        if row == 1:
            _check_first(item, path, what, fields)
        yield item


def table(path: Path | None, what: str, columns: Sequence[str]) -> Iterator[Row | BadRow]:
    """The records of a CSV file with a header that has at least `columns`."""
    open_data(path, what).close()
    assert path is not None
    csv.field_size_limit(MAX_FIELD_BYTES)
    with open_regular_text(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file)
        try:
            header = next(reader, [])
        except csv.Error as error:
            raise SpecError(f"'{path}' is not {what}: {error}.") from error
        if missing := [name for name in columns if name not in header]:
            raise SpecError(f"'{path}' is not {what}: its first line has no column '{missing[0]}'.")
        row = 0
        while True:
            row += 1
            try:
                cells = next(reader)
            except StopIteration:
                if row == 1:
                    raise SpecError(f"'{path}' has no row. Expected {what}.") from None
                return
            except csv.Error as error:
                yield BadRow(row, "row", f"{error}; the rest of the file was not read")
                return
            yield _record(row, header, cells)


def _record(row: int, header: Sequence[str], cells: Sequence[str]) -> Row | BadRow:
    if len(cells) != len(header):
        return BadRow(row, "row", f"{len(cells)} cells, expected {len(header)}")
    for name, cell in zip(header, cells, strict=True):
        if _ESCAPED_BYTE.search(cell):
            return BadRow(row, storable(name)[0], "not UTF-8")
    return row, dict(zip(header, cells, strict=True))


def text_field(record: Mapping[str, Any], row: int, name: str) -> str:
    """A field that must hold text, made storable. Raises BadRow."""
    if name not in record:
        raise BadRow(row, name, "missing")
    value = record[name]
    if not isinstance(value, str):
        raise BadRow(row, name, f"expected text, found {_kind(value)}")
    if not value or value.isspace():
        raise BadRow(row, name, "empty")
    return storable(value)[0]


def number_field(record: Mapping[str, Any], row: int, name: str) -> str:
    """A field that holds one finite number, or text that states one, written plainly: `8.0` is `8`. Raises BadRow."""
    if name not in record:
        raise BadRow(row, name, "missing")
    value = record[name]
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    number = read_number(text) if isinstance(text, str) else None
    if number is None:
        raise BadRow(row, name, f"expected a number, found {_kind(value)}")
    return plain_number(number)


def plain_number(value: Fraction) -> str:
    return show_number(value, decimal=True)


def _kind(value: Any) -> str:
    """What was found, shown short enough for one line."""
    if isinstance(value, (dict, list)):
        return {dict: "an object", list: "a list"}[type(value)]
    shown = storable(str(value) if isinstance(value, (str, float)) else json.dumps(value))[0]
    return f"'{shown[:40]}{'…' if len(shown) > 40 else ''}'"


class _RowNames:
    """The names that rows have had. Of names that are small numbers one byte is kept, and not a text: most are."""

    def __init__(self) -> None:
        self._numbers, self._names = bytearray(), set[str]()

    def add(self, name: str) -> bool:
        """Whether no row had the name."""
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
    """The number of up to seven digits that is written like this; -1 for other names, also for `07`."""
    if len(name) <= 7 and name.isascii() and name.isdecimal() and (name[0] != "0" or name == "0"):
        return int(name)
    return -1


def tasks(rows: Iterator[Row | BadRow], to_task: Callable[[int, Mapping[str, Any]], Task]) -> Iterator[Task | BadRow]:
    """The task each row makes, or why it makes none. A row id that occurred before makes none: results go by row id."""
    seen = _RowNames()
    for item in rows:
        if isinstance(item, BadRow):
            yield item
            continue
        row, record = item
        try:
            task = to_task(row, record)
            if len(task.row) > MAX_ROW_NAME:
                raise BadRow(row, "ID", f"'{task.row[:40]}' longer than {MAX_ROW_NAME} characters")
            if not seen.add(task.row):
                raise BadRow(row, "ID", f"'{task.row[:40]}' occurs twice")
        except BadRow as bad:
            yield bad
        else:
            yield task
