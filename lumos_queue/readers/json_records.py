"""Read JSON files: a list of objects or JSON lines row by row, or a document as a whole."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.file_kind import UTF8_MARK
from lumos_queue.readers.json_text import RowDecoder
from lumos_queue.readers.opened_file import open_data
from lumos_queue.readers.source import MAX_FIELD_BYTES, TO_UTF8, Row, Source
from lumos_queue.util.untrusted_json import read_json
from lumos_queue.util.wording import format_bytes

MAX_DOCUMENT_BYTES = 2**30  #: of JSON that must be read as a whole
_CHUNK_BYTES = 2**18
_BLANKS = re.compile(r"[ \t\n\r]*")
_TAIL = 32  #: an error in so many last characters of the buffer may mean that the rest is not read yet


def read_json_lines(file: io.BufferedReader, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the object of each line; empty lines are counted and skipped.

    Raises SpecError if the first row is not an object, or has none of the `fields`.
    """
    row, good, decoder = 0, False, RowDecoder()
    while line := file.readline(MAX_FIELD_BYTES + 1):
        row += 1
        if len(line) > MAX_FIELD_BYTES:
            while line and not line.endswith(b"\n"):
                line = file.readline(2**20)
            yield BadRow(row, "line", f"longer than {format_bytes(MAX_FIELD_BYTES)}")
            continue
        line = line.removeprefix(UTF8_MARK) if row == 1 else line
        if line.isspace() or not line:
            continue
        value = _read_line(line, row, decoder)
        if not good:
            if _is_part(line, value):
                raise source.refuse(
                    "its first line is only a part of a JSON object. Write each row on its own line, as with: "
                    "jq -c '.FIELD[]' (for a list in a field), or jq -c . (for one object after another)"
                )
            source.check_first(value, row, fields)
        good = True
        yield value if isinstance(value, BadRow) else decoder.make_row(row, value, "line")
    if not good:
        raise source.refuse_empty()


def _is_part(line: bytes, value: Any) -> bool:
    """Whether the line seems to begin an object that continues on further lines."""
    return isinstance(value, BadRow) and line.rstrip().endswith((b"{", b"[", b","))


def _read_line(line: bytes, row: int, decoder: RowDecoder) -> Any:
    """Return the value of a line, or a BadRow for a line that is not JSON."""
    try:
        return decoder.decode(line.decode())
    except UnicodeDecodeError as error:
        return BadRow(row, "line", f"not UTF-8 at byte {error.start}: {TO_UTF8}")
    except ValueError as error:
        return BadRow(row, "line", f"not JSON: {error}")


def read_json_list(file: io.BufferedReader, source: Source, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the objects of one JSON list.

    Raises SpecError if the first row is not an object, or has none of the `fields`, and if the list is truncated or is
    not JSON.
    """
    decoder, elements = RowDecoder(), _Elements(file, source)
    row = 0
    for value in elements.read(decoder):
        row += 1
        if row == 1:
            source.check_first(value, row, fields)
        yield decoder.make_row(row, value)
    if not row:
        raise source.refuse_empty()


class _Elements:
    """Reads the elements of a list one after another. Only text that is not decoded yet is in memory."""

    def __init__(self, file: io.BufferedReader, source: Source):
        self._file, self._source = file, source
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._position = "", 0
        self._bytes, self._number, self._complete = 0, 1, False

    def read(self, decoder: RowDecoder) -> Iterator[Any]:
        self._expect("[", "a list")
        if self._next_character() == "]":
            self._position += 1
        else:
            while True:
                yield self._read_element(decoder)
                self._number += 1
                if self._next_character() == "]":
                    self._position += 1
                    break
                self._expect(",", "',' or ']'")
                self._next_character()
        if self._next_character():
            raise self._source.refuse("there is more text after the end of the list. Remove this text")

    def _read_element(self, decoder: RowDecoder) -> Any:
        while True:
            try:
                value, end = decoder.decode_at(self._text, self._position)
            except json.JSONDecodeError as error:
                if error.pos < len(self._text) - _TAIL and not error.msg.startswith("Unterminated string"):
                    raise self._refuse(error.msg) from error
                if not self._fill():
                    raise self._refuse(error.msg) from error
            except ValueError as error:
                raise self._refuse(str(error)) from error
            else:
                if end < len(self._text) or not self._fill():  # the rest of a number may not be read yet
                    self._position = end
                    return value

    def _next_character(self) -> str:
        """Move to the next character that is not a blank, and return it; "" at the end of the file."""
        while True:
            blanks = _BLANKS.match(self._text, self._position)
            self._position = blanks.end() if blanks else self._position
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._fill():
                return ""

    def _expect(self, character: str, name: str) -> None:
        if self._next_character() != character:
            raise self._refuse(f"expected {name}")
        self._position += 1

    def _fill(self) -> bool:
        """Read more text; return False at the end of the file.

        Each read doubles the text that remains to be decoded, so that even a long element is decoded only a few times.
        """
        remaining = len(self._text) - self._position
        if remaining > MAX_FIELD_BYTES:
            raise self._refuse(f"longer than {format_bytes(MAX_FIELD_BYTES)}, or no JSON")
        data = b"" if self._complete else self._file.read(max(_CHUNK_BYTES, remaining))
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise self._refuse(f"not UTF-8 near byte {self._bytes + error.start}: {TO_UTF8}") from error
        self._bytes += len(data)
        self._complete = not data
        self._text, self._position = self._text[self._position :] + text, 0
        return bool(data)

    def _refuse(self, problem: str) -> SpecError:
        return self._source.refuse(f"row {self._number}: {problem}")


def json_document(path: Path | None, description: str) -> Any:
    """Return the JSON value of a whole file. Raises SpecError for other files, and beyond MAX_DOCUMENT_BYTES."""
    source = Source(path, description)
    with open_data(path, description) as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise SpecError(f"'{path}' is larger than {format_bytes(MAX_DOCUMENT_BYTES)}. Expected {description}.")
    try:
        return read_json(data.removeprefix(UTF8_MARK).decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.refuse(f"not UTF-8 at byte {error.start} (line {line})") from error
    except ValueError as error:
        raise source.refuse(str(error)) from error
