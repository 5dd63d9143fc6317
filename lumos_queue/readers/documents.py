"""Distinguish files that are a single JSON object, or XML, from files of rows, without reading the rows."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.readers.file_kind import UTF8_MARK, FileKind, kind_of
from lumos_queue.readers.json_records import MAX_DOCUMENT_BYTES, json_document
from lumos_queue.readers.opened_file import open_data, peek_character
from lumos_queue.readers.source import Source
from lumos_queue.util.untrusted_json import read_json

_ROWS = (FileKind.TEXT, FileKind.PARQUET, FileKind.ARROW)


def is_xml(path: Path | None, description: str) -> bool:
    """Whether a file is XML. `description` describes the expected file. Raises SpecError for an unreadable file."""
    if path is not None and path.is_dir():
        return False
    with open_data(path, description, kinds=_ROWS) as file:
        return kind_of(file.peek()) is FileKind.TEXT and peek_character(file, Source(path, description)) == "<"


def read_object(
    path: Path | None, description: str, is_row: Callable[[Mapping[str, Any]], bool]
) -> Mapping[str, Any] | None:
    """Return the JSON object of a file that is a single object; None for a file of rows in any format.

    A file with a single object may also be a file of one row: `is_row` decides. `description` describes the expected
    file. Raises SpecError if the file cannot be read.
    """
    if path is not None and path.is_dir():
        return None
    with open_data(path, description, kinds=_ROWS) as file:
        if kind_of(file.peek()) is not FileKind.TEXT or peek_character(file, Source(path, description)) != "{":
            return None
        first = _read_line(file)
        has_lines = first is not None and any(not line.isspace() for line in iter(file.readline, b""))
    if has_lines:
        return None
    document = json_document(path, description) if first is None else first
    return document if isinstance(document, dict) and not is_row(document) else None


def _read_line(file: io.BufferedReader) -> Mapping[str, Any] | None:
    """Return the object on the first line that is not blank; None if the line is not a complete object."""
    line = b""
    while not line.strip():
        line = file.readline(MAX_DOCUMENT_BYTES).removeprefix(UTF8_MARK)
    try:
        value = read_json(line.decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
