"""Read text tables with a header, one row at a time: CSV, TSV, or with semicolons between the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from lumos_queue.errors import BadRow
from lumos_queue.readers.source import MAX_FIELD_BYTES, TO_UTF8, Row, Source, shorten
from lumos_queue.util.wording import format_bytes

DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}
_QUOTED = re.compile(r'"[^"]*"')
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_END = "\ud800"  # added behind the last line. No UTF-8 text has it. Inside a cell it reveals an open quotation mark
_UNREAD = "the rest of the file was not read"


def read_delimited(file: io.BufferedReader, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the rows of a table with cells as text; empty rows are counted and skipped.

    The header must have at least one of the `fields`. A column without a name is not read. Raises SpecError if the
    header is not usable, and if the separator of the columns is not clear.
    """
    csv.field_size_limit(MAX_FIELD_BYTES)
    start = file.peek().decode("utf-8-sig", "replace")
    delimiter = _find_delimiter(start, source, fields)
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
        lines = iter(partial(text.readline, MAX_FIELD_BYTES + 2), "")  # a longer line has a cell that is too long
        reader = csv.reader(chain(lines, (_END,)), delimiter=delimiter)
        names = _read_header(reader, source)
        source.check_columns(names, fields)
        count = 0
        for item in _read_rows(reader, names):
            count += 1
            yield item
        if not count:
            raise source.refuse_empty()


def _read_header(reader: Iterator[list[str]], source: Source) -> list[str]:
    try:
        cells = next(cells for cells in reader if any(map(str.strip, cells)) and not _is_separator(cells))
    except csv.Error as error:
        raise source.refuse(f"its first line cannot be read ({error})") from error
    if cells[-1].endswith(_END):
        raise source.refuse("a quotation mark in its first line is never closed" if cells != [_END] else "it is empty")
    if any(map(_ESCAPED_BYTE.search, cells)):
        raise source.refuse(f"its first line is not UTF-8: {TO_UTF8}")
    return [name.strip() for name in cells]


def _is_separator(cells: list[str]) -> bool:
    """Whether the line is one such as `sep=;`, which tells spreadsheet programs the separator."""
    return cells[0] in ("sep=", *(f"sep={delimiter}" for delimiter in DELIMITERS)) and not any(cells[1:])


def _read_rows(reader: Iterator[list[str]], names: Sequence[str]) -> Iterator[Row | BadRow]:
    row, width, has_names = 0, len(names), all(names)
    try:
        for cells in reader:
            row += 1
            text = "".join(cells)
            if not text or text.isspace():
                continue
            if not text.isascii():
                if text.endswith(_END):
                    if text != _END:
                        yield BadRow(row, "row", f"a quotation mark opens a cell and is never closed; {_UNREAD}")
                    return
                if name := _find_escaped(names, cells):
                    yield BadRow(row, name, f"not UTF-8: {TO_UTF8}")
                    continue
            if len(cells) != width:
                yield BadRow(row, "row", f"{len(cells)} cells, expected {width}")
            elif has_names:
                yield row, dict(zip(names, cells, strict=True))
            else:
                yield row, {name: cell for name, cell in zip(names, cells, strict=True) if name}
    except csv.Error as error:
        reason = f"a cell of more than {format_bytes(MAX_FIELD_BYTES)}, or an open quotation mark"
        yield BadRow(row + 1, "row", f"{reason if 'limit' in str(error) else error}; {_UNREAD}")


def _find_escaped(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return the column of the first cell that is not UTF-8; "" if all cells are UTF-8."""
    for column, cell in enumerate(cells):
        if not cell.isascii() and _ESCAPED_BYTE.search(cell):
            return shorten(names[column]) if column < len(names) and names[column] else "row"
    return ""


def _find_delimiter(start: str, source: Source, names: Sequence[str]) -> str:
    """Return the separator of the columns, from the start of a table. Raises SpecError if it is not clear."""
    header = next((line for line in _QUOTED.sub("", start).splitlines() if line.strip()), "")
    candidates = [delimiter for delimiter in DELIMITERS if delimiter in header]
    if len(candidates) < 2:
        return candidates[0] if candidates else ","
    tables = {delimiter: _read_sample(start, delimiter) for delimiter in candidates}
    for matches in (
        [delimiter for delimiter, rows in tables.items() if any(cell.strip() in names for cell in rows[0])],
        [delimiter for delimiter, rows in tables.items() if len({len(cells) for cells in rows}) == 1],
    ):
        if len(matches) == 1:
            return matches[0]
    delimiter_names = " and ".join(DELIMITERS[delimiter] for delimiter in candidates)
    raise source.refuse(
        f"its first line has {delimiter_names}, and it is not clear which of them separate the columns. "
        'Put column names with such characters into quotation marks ("…"), or save the file as JSON lines'
    )


def _read_sample(start: str, delimiter: str) -> list[list[str]]:
    """Return the header and the rows in the start of a table, without the last row, which may be truncated."""
    try:
        rows = [cells for cells in csv.reader(io.StringIO(start, newline=""), delimiter=delimiter) if cells]
    except csv.Error:
        return [[]]
    return rows[:-1] if len(rows) > 1 else rows or [[]]
