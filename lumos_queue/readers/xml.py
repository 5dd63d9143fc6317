"""Read rows from XML one by one with expat.

A file with a document type (`<!DOCTYPE …>`) is refused, because it may define entities, of which XML bombs consist.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.parsers import expat

from lumos_queue.errors import SpecError
from lumos_queue.readers.opened_file import open_data
from lumos_queue.readers.source import MAX_FIELD_BYTES, Row
from lumos_queue.util.wording import format_bytes

CHUNK_BYTES = 2**16
MAX_DEPTH = 50  #: of nested elements
MAX_TAG_BYTES = 2**20  #: of a tag or a comment, which expat reads again from its beginning with every chunk


class _Refused(Exception):
    """Raised if the document has something that is refused."""


class _Rows:
    """Collects, for each element called `name`, its attributes and the texts of its children."""

    def __init__(self, name: str):
        self.name = name
        self.completed: list[Row] = []
        self.count = self.depth = self.characters = 0
        self.record: dict[str, str] | None = None
        self.parts: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Refused(f"elements nested more than {MAX_DEPTH} deep")
        if self.record is not None:
            self.parts, self.characters = [], 0
        elif tag == self.name:
            self.record = dict(attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if self.parts is not None and self.record is not None:
            self.record[tag] = "".join(self.parts)
            self.parts = None
        elif tag == self.name and self.record is not None:
            self.count += 1
            self.completed.append((self.count, self.record))
            self.record = None

    def text(self, data: str) -> None:
        if self.parts is not None:
            self.characters += len(data)
            if self.characters > MAX_FIELD_BYTES:
                raise _Refused(f"an element with more than {MAX_FIELD_BYTES:,} characters")
            self.parts.append(data)

    def document_type(self, *_: object) -> None:
        raise _Refused("a document type (<!DOCTYPE …>)")


def elements(path: Path | None, description: str, name: str) -> Iterator[Row]:
    """Yield each `<name>` element as a record of its attributes and its children's texts.

    `description` describes the expected file. Raises SpecError if the file is not XML, has a document type, or has no
    such element.
    """
    with open_data(path, description) as file:
        yield from read_elements(file, path, description, name)


def read_elements(file: IO[bytes], path: Path | None, description: str, name: str) -> Iterator[Row]:
    """Yield the same rows as `elements` from an open file; messages name `path`."""
    rows = _Rows(name)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = rows.start, rows.end
    parser.CharacterDataHandler = rows.text
    parser.StartDoctypeDeclHandler = rows.document_type
    byte_count = 0
    while True:
        chunk = file.read(CHUNK_BYTES)
        byte_count += len(chunk)
        problem = None
        try:
            parser.Parse(chunk, not chunk)
            if byte_count - parser.CurrentByteIndex > MAX_TAG_BYTES:
                raise _Refused(f"a tag or a comment of more than {format_bytes(MAX_TAG_BYTES)}")
        except (expat.ExpatError, _Refused, ValueError, LookupError) as error:
            problem = error
        yield from rows.completed
        rows.completed.clear()
        if problem:
            location = f"line {parser.CurrentLineNumber}, after {rows.count} <{name}> elements"
            raise SpecError(f"'{path}' is not {description}: {location}: {problem}.") from problem
        if not chunk:
            break
    if not rows.count:
        raise SpecError(f"'{path}' is not {description}: it has no <{name}> element.")
