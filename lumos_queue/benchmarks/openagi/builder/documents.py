"""Read the JSON documents and text files of published data sets."""

from __future__ import annotations

from lumos_queue.benchmarks.openagi.builder.files import DataFile, FileIndex, UnusableSet
from lumos_queue.errors import SpecError
from lumos_queue.readers.fields import Node
from lumos_queue.readers.json_records import json_document
from lumos_queue.util.regular_file import UnusableFile, read_regular

MAX_BYTES = 64 << 20  #: of a text file


def read_document(file: DataFile, index: FileIndex) -> Node:
    """Return a JSON file. Raises UnusableSet for a file that is not JSON."""
    try:
        return Node(1, "", json_document(file.save(index.scratch), "JSON"))
    except SpecError as error:
        problem = str(error).rpartition("' is not JSON: ")[2].rstrip(".")
        raise UnusableSet(f"'{file.label}' is not JSON: {problem}") from None


def read_text(file: DataFile, index: FileIndex) -> str:
    """Return a text file. Raises UnusableSet for a file that is not UTF-8, or has more than MAX_BYTES."""
    try:
        return read_regular(file.save(index.scratch, MAX_BYTES), limit=MAX_BYTES).decode("utf-8-sig")
    except UnusableFile as error:
        raise UnusableSet(f"'{file.label}' {error.problem}") from None
    except OSError as error:
        raise UnusableSet(f"'{file.label}' cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise UnusableSet(f"'{file.label}' is not UTF-8 (byte {error.start:,})") from None
