"""Read files of JSON lines from outside the project, one line at a time: a line becomes an object or a BadRow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.untrusted_json import read_json
from lumos_queue.util.wording import format_bytes

MAX_LINE_BYTES = 16 * 1024 * 1024  #: bytes of one line
_MARK = b"\xef\xbb\xbf"  # a byte order mark in UTF-8


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line of a file with the JSON object that it contains."""

    number: int  #: counted from 1, empty lines too
    start: int  #: byte at which it begins
    row: dict[str, Any]


class JsonLines:
    """The lines of a file. After all lines are read, `sha256` is the digest of the file's bytes."""

    def __init__(self, path: Path):
        """Check the file. Raises SpecError when it does not exist, is empty, looks like UTF-16 or is one JSON array."""
        if not path.is_file():
            raise SpecError(f"No file '{path}'. Expected JSON lines.")
        if problem := _file_problem(path):
            raise SpecError(f"'{path}' {problem}")
        self.path = path
        self._hasher = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._hasher.hexdigest()

    def __iter__(self) -> Iterator[JsonLine | BadRow]:
        """Yield the lines. Empty lines are skipped; a line that cannot be read is a BadRow."""
        start = 0
        with open_regular(self.path) as file:
            for number, data in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES), b""), 1):
                size, whole = len(data), True
                self._hasher.update(data)
                while len(data) == MAX_LINE_BYTES and not data.endswith(
                    b"\n"
                ):  # skip the rest of a line that is too long
                    data, whole = file.readline(MAX_LINE_BYTES), False
                    self._hasher.update(data)
                    size += len(data)
                if not whole:
                    yield BadRow(number, "", f"is longer than {format_bytes(MAX_LINE_BYTES)}")
                elif data.strip():
                    yield read_line(data, number, start)
                start += size


def read_line(data: bytes, number: int, start: int = 0) -> JsonLine | BadRow:
    """Read the JSON object of a line and ignore a byte order mark. Return a BadRow if the line cannot be read."""
    try:
        row = read_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return BadRow(number, "", f"is not UTF-8: byte {error.start + 1} is {error.object[error.start]:#04x}")
    except ValueError as error:
        return BadRow(number, "", f"is not JSON: {error}")
    if not isinstance(row, dict):
        return BadRow(number, "", "expected a JSON object")
    return JsonLine(number, start, row)


def _file_problem(path: Path) -> str:
    """Return why the file is not JSON lines and how to convert it; '' if its first line may be a JSON object."""
    with open_regular(path) as file:
        first = next((line for line in iter(lambda: file.readline(MAX_LINE_BYTES), b"") if line.strip()), b"")
    if not first.removeprefix(_MARK).strip():
        return "is empty: expected JSON lines in UTF-8, one object per line."
    if b"\0" in first[:4]:  # UTF-8 text at the beginning of a JSON object has no zero byte
        return "looks like UTF-16: expected JSON lines in UTF-8. Make them with: iconv -f UTF-16 -t UTF-8"
    if first.removeprefix(_MARK).lstrip().startswith(b"[") and _begins_array(first):
        return "is one JSON array: expected JSON lines, one object per line. Make them with: jq -c '.[]'"
    return ""


def _begins_array(line: bytes) -> bool:
    """Whether the line is an array of objects, or the first line of an array. `[1]` is no such line, but a bad row."""
    try:
        value = read_json(line)
    except ValueError:
        return line.rstrip().endswith((b"[", b"{", b",")) or len(line) == MAX_LINE_BYTES
    return not value or isinstance(value[0], dict)


def text_field(line: JsonLine, name: str) -> str:
    """Return the text of a field. Raises BadRow when the field is missing or is not a text."""
    value = line.row.get(name)
    if not isinstance(value, str):
        raise BadRow(line.number, name, "is missing" if value is None else f"expected a text, found {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}[type(value)]
