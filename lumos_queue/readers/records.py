"""Read the rows of a data file of any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.dataset_folder import read_arrow, read_dataset_folder
from lumos_queue.readers.delimited_rows import read_delimited
from lumos_queue.readers.file_kind import FileKind, kind_of
from lumos_queue.readers.json_records import read_json_lines, read_json_list
from lumos_queue.readers.opened_file import open_data, peek_character
from lumos_queue.readers.parquet import read_parquet_rows
from lumos_queue.readers.source import Row, Source

_KINDS = (FileKind.TEXT, FileKind.PARQUET, FileKind.ARROW)


def read_records(path: Path | None, description: str, fields: Sequence[str] = ()) -> Iterator[Row | BadRow]:
    """Return an iterator of the rows of a file: (number from 1, record), or a BadRow for a row that cannot be read.

    The file is CSV, TSV, a table with semicolons, a JSON list, JSON lines or Parquet, each also gzipped, or a folder
    that `save_to_disk` of the library `datasets` wrote. Its first bytes decide, not its name. Rows are numbered by line
    in JSON lines, and by record in other formats, including empty rows. Cells of CSV are text; NaN is None.

    `description` describes the expected file. The first row must have at least one of the `fields`, if there are any.

    Raises SpecError if the file as a whole cannot be read: at once if it is not a data file, otherwise while the rows
    are read.
    """
    source = Source(path, description)
    if path is None or not path.is_dir():
        with _translate_errors(source):
            open_data(path, description, kinds=_KINDS).close()
    return _read_records(path, source, fields)


@contextmanager
def _translate_errors(source: Source) -> Iterator[None]:
    """Raise SpecError with the file's name if the disk fails, or if a network file system disappears."""
    try:
        yield
    except OSError as error:
        raise SpecError(
            f"Cannot read '{source.path}': {error.strerror or error}. Expected {source.description}."
        ) from error


def _read_records(path: Path | None, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    with _translate_errors(source):
        yield from _read_rows(path, source, fields)


def _read_rows(path: Path | None, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    if path is not None and path.is_dir():
        yield from read_dataset_folder(path, source, fields)
        return
    with open_data(path, source.description, kinds=_KINDS) as file:
        kind = kind_of(file.peek())
        if kind is FileKind.PARQUET:
            yield from read_parquet_rows(file, source, fields)
        elif kind is FileKind.ARROW:
            yield from read_arrow([file], source, fields)
        elif (character := peek_character(file, source)) == "[":
            yield from read_json_list(file, source, fields)
        elif character == "{":
            yield from read_json_lines(file, source, fields)
        elif character == "<":
            raise source.refuse("it is XML: save its rows as CSV or JSON lines")
        else:
            yield from read_delimited(file, source, fields)
