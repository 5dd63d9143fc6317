"""The rows of a data file of any format: one function opens them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.errors import BadRow
from lumos_queue.readers.dataset_folder import read_arrow, read_dataset_folder
from lumos_queue.readers.delimited import read_delimited
from lumos_queue.readers.file_kind import FileKind, kind_of
from lumos_queue.readers.json_records import read_json_lines, read_json_list
from lumos_queue.readers.opened_file import open_data, peek_character
from lumos_queue.readers.parquet import read_parquet_rows
from lumos_queue.readers.source import Row, Source

_KINDS = (FileKind.TEXT, FileKind.PARQUET, FileKind.ARROW)


def read_records(
    path: Path | None, what: str, fields: Sequence[str] = (), columns: Sequence[str] = ()
) -> Iterator[Row | BadRow]:
    """Yield the rows of a file, each with its number from 1, or why a row cannot be read.

    The file is CSV, TSV, a table with semicolons, a JSON list, JSON lines or Parquet, each also gzipped, or a folder
    that `save_to_disk` of the library `datasets` wrote. Its first bytes say what it is, not its name. JSON lines are
    counted by line, the others by record, empty ones too. Cells of CSV are text; NaN is None.

    `what` names the file that is expected. `fields`: the first row must have at least one of them; (): any. `columns`:
    it must have all of them. Raises SpecError where the file as a whole cannot be read, at its beginning or where
    it breaks off.
    """
    if first_character(path, what) in "[{":
        return json_rows(path, what, fields)
    return table(path, what, columns)
