"""Convert rows of Arrow tables to values of JSON. pyarrow is imported when a file needs it.

Text, numbers, truth values, lists and objects stay the same. NaN becomes null. Dates, times and decimals become text.
Bytes become text if they are UTF-8, and otherwise the object {"bytes": length}, which no reader treats as text. Readers
of images take the bytes themselves from `Binary.content`.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.source import MAX_FIELD_BYTES, Row, Source, shorten
from lumos_queue.util.extras import install_command
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.untrusted_json import MAX_DEPTH

if TYPE_CHECKING:
    import pyarrow

ROWS_AT_ONCE = 250  #: rows that are converted together


def import_arrow(source: Source) -> None:
    """Import pyarrow. If it is missing, raises SpecError with the command that installs it."""
    try:
        with import_libraries("pyarrow"):
            import pyarrow  # noqa: F401
    except ImportError as error:
        raise SpecError(
            f"Cannot read '{source.path}': Parquet and Arrow need pyarrow. Install it with: "
            f"{install_command('export')}; or write the rows as JSON lines."
        ) from error


class ArrowRows:
    """Converts the batches of one table to rows."""

    def __init__(self, schema: pyarrow.Schema, source: Source, fields: Sequence[str]):
        """Check the schema. Raises SpecError for unknown types, and the errors of `Source.check_columns`."""
        source.check_columns(schema.names, fields)
        self._source, self._names, self._count = source, schema.names, 0
        for field in schema:
            if problem := _find_problem(field.type):
                raise source.refuse(
                    f"its column '{shorten(field.name)}' is {problem}. Remove the column, or convert it to text"
                )

    def read(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[Row | BadRow]:
        """Yield the rows. Raises SpecError for a damaged or truncated file, and for a file without rows."""
        with import_libraries("pyarrow"):
            import pyarrow

        try:
            for batch in batches:
                if batch.schema.names != self._names:
                    raise self._source.refuse("its parts have different columns")
                for start in range(0, batch.num_rows, ROWS_AT_ONCE):
                    yield from self._read_part(batch.slice(start, ROWS_AT_ONCE))
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError, OverflowError, ValueError) as error:
            if isinstance(error, (SpecError, BadRow)):
                raise
            raise damage_error(self._source, error, self._count) from error
        if not self._count:
            raise self._source.refuse_empty()

    def _read_part(self, part: pyarrow.RecordBatch) -> Iterator[Row | BadRow]:
        columns = [_values(column) for column in part.columns]
        for cells in zip(*columns, strict=True):
            self._count += 1
            record = dict(zip(self._names, cells, strict=True))
            bad = next((name for name, cell in record.items() if isinstance(cell, _Refused)), None)
            yield (self._count, record) if bad is None else BadRow(self._count, shorten(bad), record[bad].problem)


def damage_error(source: Source, error: BaseException, rows: int = 0) -> SpecError:
    """Return the error for a file that Arrow cannot read completely; `rows` were read before the damage."""
    reason = shorten(str(error), 200).rstrip(".") or type(error).__name__
    behind = f" after row {rows:,}" if rows else ""
    return source.refuse(f"it is damaged or cut off{behind} ({reason}). Copy, download or write it again")


class Binary(dict[str, int]):
    """Bytes that are not text. As JSON, this is the object {"bytes": length}."""

    def __init__(self, content: bytes):
        super().__init__(bytes=len(content))
        self.content = content


class _Refused:
    """A cell whose row is refused. `problem` describes the value."""

    def __init__(self, problem: str):
        self.problem = problem


def _find_problem(kind: pyarrow.DataType, depth: int = 0) -> str:
    """Return a description of a column's type if the column cannot be read, otherwise ""."""
    with import_libraries("pyarrow.BaseExtensionType", "pyarrow.types"):
        from pyarrow import BaseExtensionType, types

    if depth > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} levels deep"
    if isinstance(kind, BaseExtensionType):
        return f"of the extension type '{shorten(kind.extension_name)}'"
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _find_problem(kind.value_type, depth + 1)
    if types.is_union(kind):
        return "a union of types"
    problems = (_find_problem(kind.field(index).type, depth + 1) for index in range(kind.num_fields))
    return next(filter(None, problems), "")


def _values(column: pyarrow.Array) -> list[Any]:
    """Return the cells of a column as Python values."""
    with import_libraries("pyarrow", "pyarrow.compute", "pyarrow.types"):
        import pyarrow
        from pyarrow import compute, types

    kind = column.type
    if isinstance(column, pyarrow.DictionaryArray):
        indices = column.indices.unique().drop_null()
        values = dict(zip(indices.to_pylist(), _values(column.dictionary.take(indices)), strict=True))
        return [values.get(index) for index in column.indices.to_pylist()]
    if column.nbytes > MAX_FIELD_BYTES and len(column) > 1:
        half = len(column) // 2
        return [*_values(column.slice(0, half)), *_values(column.slice(half))]
    if types.is_temporal(kind) or types.is_decimal(kind):
        return compute.cast(column, pyarrow.string()).to_pylist()
    values = column.to_pylist()
    if types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
        return values
    if types.is_floating(kind):
        return [value if value is None or math.isfinite(value) else _read_infinite(value) for value in values]
    return [_read_cell(value) for value in values]


def _read_infinite(value: float) -> Any:
    return None if math.isnan(value) else _Refused("an infinite number, which no row may have")


def _read_cell(value: Any) -> Any:
    try:
        return _read_value(value)
    except ValueError as error:
        return _Refused(str(error))


def _read_value(value: Any) -> Any:
    """Return the value as a value of JSON. Raises ValueError for an infinite number, and for types that JSON lacks."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError("an infinite number, which no row may have")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(name): _read_value(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_read_value(part) for part in value]
    if isinstance(value, bytes):
        return _read_bytes(value)
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise ValueError(f"a value of the type {type(value).__name__}, which no row may have")


def _read_bytes(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Binary(value)


_WRITERS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (Decimal, str),
    (datetime.datetime, lambda value: value.isoformat(" ")),
    (datetime.date, lambda value: value.isoformat()),
    (datetime.time, lambda value: value.isoformat()),
    (datetime.timedelta, str),
)
