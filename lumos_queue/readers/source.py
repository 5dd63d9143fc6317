"""Describe a data file in messages, state the limits of its rows, and check its first row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.util.sanitize import storable

MAX_FIELD_BYTES = 64 * 2**20  #: of one JSON line, one element of a JSON list, or one cell of a table
MAX_COLUMNS = 10_000  #: of a table, and fields of a JSON object
MAX_LISTED = 8  #: fields that a message lists
TO_UTF8 = "convert the file, as with: iconv -f LATIN1 -t UTF-8"

Row = tuple[int, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """A file that a person named. `description` describes the expected file; messages have it after "is not"."""

    path: Path | None
    description: str

    def refuse(self, problem: str) -> SpecError:
        """Return the error for a file that is not the expected file. `problem` is a sentence without its full stop."""
        return SpecError(f"'{self.path}' is not {self.description}: {problem}.")

    def refuse_empty(self) -> SpecError:
        return SpecError(f"'{self.path}' has no row. Expected {self.description}.")

    def check_first(self, value: Any, row: int, fields: Sequence[str]) -> None:
        """Raise SpecError for a first row that is not an object, or has none of the `fields`, if there are any."""
        if not isinstance(value, dict):
            problem = value if isinstance(value, BadRow) else BadRow(row, "row", describe_object(value))
            raise self.refuse(str(problem))
        if fields and not any(name in value for name in fields):
            raise self.refuse(f"its first row has the fields: {list_names(value)}")

    def check_columns(self, names: Sequence[str], fields: Sequence[str]) -> None:
        """Raise SpecError for a table without names, with a repeated name, or without any of the `fields`."""
        if not any(names):
            raise self.refuse("its first line names no column")
        if len(names) > MAX_COLUMNS:
            raise self.refuse(f"it has {len(names):,} columns, and at most {MAX_COLUMNS:,} are read. Remove columns")
        known_names = set[str]()
        for name in names:
            if name and name in known_names:
                raise self.refuse(f"two of its columns have the name '{shorten(name)}'. Rename one of them")
            known_names.add(name)
        if fields and known_names.isdisjoint(fields):
            raise self.refuse(f"its first line has the columns: {list_names(names)}")


def list_names(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Return the first names, short enough for one line."""
    labels = [shorten(str(name)) for name in names if name]
    suffix = f" and {len(labels) - MAX_LISTED:,} more" if len(labels) > MAX_LISTED else ""
    return ", ".join(labels[:MAX_LISTED]) + suffix or "none"


def describe_object(value: Any) -> str:
    """Return the problem of a value that is not an object."""
    return f"expected a JSON object, found {describe_value(value)}"


def describe_value(value: Any) -> str:
    """Return `an object`, `a list`, or a plain value itself in quotes, short enough for one line."""
    if isinstance(value, (dict, list)):
        return {dict: "an object", list: "a list"}[type(value)]
    return f"'{shorten(str(value) if isinstance(value, (str, float)) else json.dumps(value))}'"


def shorten(text: str, length: int = 40) -> str:
    """Shorten a text of a file for a message: one line of at most `length` printable characters."""
    start = storable(text[: length + 1])[0]
    line = " ".join("".join(character if character.isprintable() else " " for character in start[:length]).split())
    return f"{line}{'…' * (len(start) > length)}"
