"""Read rows of data files field by field. An unexpected value raises a BadRow that names the field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from lumos_queue.errors import BadRow
from lumos_queue.readers.rows import number_field
from lumos_queue.readers.written_values import read_written
from lumos_queue.util.sanitize import storable

T = TypeVar("T")
_WHOLE = re.compile(r"-?[0-9]{1,18}(?:\.0)?")
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Node:
    """A value inside a row, with its path, such as `hops[2].answer`. Methods raise BadRow for a value of another type.

    A field that is null counts as absent: `name in node` is False, and `node[name]` reports the field as missing.
    """

    row: int
    name: str
    value: Any

    def __getitem__(self, key: str) -> Self:
        fields = self.fields()
        name = f"{self.name}.{key}" if self.name else key
        if fields.get(key) is None:
            raise BadRow(self.row, name, "missing")
        return type(self)(self.row, name, fields[key])

    def __contains__(self, key: str) -> bool:
        fields = self._fields()
        return fields is not None and fields.get(key) is not None

    def fields(self) -> Mapping[str, Any]:
        """Return the fields of an object, including those that are null."""
        fields = self._fields()
        if fields is None:
            raise self.bad("expected an object")
        return fields

    def items(self) -> list[Self]:
        """Return the elements of a list."""
        values = self._elements()
        if values is None:
            raise self.bad("expected a list")
        return [type(self)(self.row, f"{self.name}[{index}]", value) for index, value in enumerate(values)]

    def raw_text(self) -> str:
        """Return text that is not blank, unchanged except for characters that cannot be stored."""
        if not isinstance(self.value, str):
            raise self.bad("expected text")
        text = storable(self.value)[0]
        if not text.strip():
            raise self.bad("empty")
        return text

    def text(self, verbatim: bool = False) -> str:
        """Return storable text that is not blank: on one line with single spaces, or only stripped (`verbatim`)."""
        text = self.raw_text()
        return text.strip() if verbatim else " ".join(text.split())

    def texts(self, raw: bool = False) -> list[str]:
        return [item.raw_text() if raw else item.text() for item in self.items()]

    def whole(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.bad("expected a whole number")
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.bad("expected true or false")
        return self.value

    def bad(self, problem: str) -> BadRow:
        """Return the error to raise for this field."""
        return BadRow(self.row, self.name or "row", problem)

    def _fields(self) -> Mapping[str, Any] | None:
        return self.value if isinstance(self.value, Mapping) else None

    def _elements(self) -> Sequence[Any] | None:
        return self.value if isinstance(self.value, list) else None


@dataclass(frozen=True, slots=True)
class RowNode(Node):
    """A value of a published row, in any form that a file of one of the formats may have.

    An object or a list may be written as text (readers/written_values.py), as may numbers and truth values, and an id
    or an answer may be a number. An empty text counts as absent, because a table has no null.
    """

    def __contains__(self, key: str) -> bool:
        fields = self._fields()
        return fields is not None and fields.get(key) not in (None, "")

    def label(self) -> str:
        """Return a text or a number as text, for an id, an answer or a choice."""
        if isinstance(self.value, (int, float)) and not isinstance(self.value, bool):
            return number_field({self.name: self.value}, self.row, self.name)
        return self.text()

    def labels(self) -> list[str]:
        return [item.label() for item in self.items()]

    def whole(self) -> int:
        if isinstance(self.value, str) and _WHOLE.fullmatch(self.value):
            return int(self.value.partition(".")[0])
        if isinstance(self.value, float) and self.value.is_integer():
            return int(self.value)
        return Node.whole(self)

    def truth(self) -> bool:
        if isinstance(self.value, str) and (truth := _TRUTHS.get(self.value.strip().casefold())) is not None:
            return truth
        return Node.truth(self)

    def is_list(self) -> bool:
        """Whether the value is a list, or text that begins like a list."""
        return isinstance(self.value, list) or _begins(self.value, "[")

    def _fields(self) -> Mapping[str, Any] | None:
        fields = self._read_written("{")
        return fields if isinstance(fields, Mapping) else None

    def _elements(self) -> Sequence[Any] | None:
        elements = self._read_written("[")
        return elements if isinstance(elements, list) else None

    def _read_written(self, beginning: str) -> Any:
        if not _begins(self.value, beginning):
            return self.value
        try:
            return read_written(self.value)
        except ValueError as error:
            raise self.bad(str(error)) from None


def _begins(value: Any, beginning: str) -> bool:
    return isinstance(value, str) and value[:1] == beginning


@dataclass(slots=True)
class ConversionFields:
    """Reads fields that only conversions need. In other uses of the rows, an unreadable field is left out."""

    required: bool  #: the rows are converted: a row with an unreadable field is bad
    left_out: int = 0  #: rows that are read without a field
    first: str = ""  #: the problem of the first of these rows

    def read(self, read: Callable[[], T], otherwise: T) -> T:
        """Return the result of `read`; if `read` raises BadRow, return `otherwise`, or raise BadRow in a conversion."""
        try:
            return read()
        except BadRow as bad:
            if self.required:
                raise
            self.leave_out(str(bad))
            return otherwise

    def leave_out(self, problem: str) -> None:
        """Count a row that is read without a field."""
        self.left_out += 1
        self.first = self.first or problem

    def notes(self) -> list[str]:
        """Return a list with a sentence on the rows that were read without a field; [] without such rows."""
        if not self.left_out:
            return []
        return [f"{self.left_out:,} of them cannot be converted; the first: {self.first}"]


CONVERTING = ConversionFields(required=True)
