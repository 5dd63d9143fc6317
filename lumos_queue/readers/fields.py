"""Nested rows of JSON files, read field by field: what is not as expected is a BadRow that names the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.records import read_records
from lumos_queue.readers.source import Row
from lumos_queue.util.sanitize import storable


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a row, and its path: `hops[2].answer`. Every method raises BadRow."""

    row: int
    name: str
    value: Any

    def __getitem__(self, key: str) -> Node:
        if not isinstance(self.value, Mapping):
            raise self.bad("expected an object")
        name = f"{self.name}.{key}" if self.name else key
        if key not in self.value:
            raise BadRow(self.row, name, "missing")
        return Node(self.row, name, self.value[key])

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, Mapping) and key in self.value

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.bad("expected a list")
        return [Node(self.row, f"{self.name}[{place}]", value) for place, value in enumerate(self.value)]

    def raw_text(self) -> str:
        """Text that is not blank, byte for byte but for what cannot be stored: what a plan is made of."""
        if not isinstance(self.value, str):
            raise self.bad("expected text")
        found = storable(self.value)[0]
        if not found.strip():
            raise self.bad("empty")
        return found

    def text(self, verbatim: bool = False) -> str:
        """Text that is not blank, made storable; on one line with single spaces, or verbatim but for its ends."""
        found = self.raw_text()
        return found.strip() if verbatim else " ".join(found.split())

    def texts(self, written: bool = False) -> list[str]:
        return [item.raw_text() if written else item.text() for item in self.items()]

    def whole(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.bad("expected a whole number")
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.bad("expected true or false")
        return self.value

    def bad(self, problem: str) -> BadRow:
        """The error to raise for this field."""
        return BadRow(self.row, self.name or "row", problem)


def json_rows(path: Path | None, what: str, fields: Sequence[str]) -> Iterator[Row | BadRow]:
    """Yield the rows of a file of any format, as `read_records`."""
    return read_records(path, what, fields)
