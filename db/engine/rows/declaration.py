"""Declare that the fields of a NamedTuple are columns of a table, and read this declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, get_type_hints

from sqlalchemy import Table

from db.models.base import Base

PlainRow: TypeAlias = tuple[Any, ...]  #: a value for each column: a text, a number, bytes or None
RowType = TypeVar("RowType", bound=type[PlainRow])


@dataclass(frozen=True, slots=True, eq=False)  # equal only to itself: a key of caches
class Declaration:
    """The table that rows of one type are written to, and how."""

    table: Table
    columns: tuple[str, ...]
    #: Columns in which a row that arrives again must equal the stored row.
    compare: tuple[str, ...]
    stamp: str  #: one more column, which gets the time by the database's clock; '': no column
    groups: tuple[int, ...]  #: indexes of the fields that are NamedTuples of columns themselves


_DECLARATIONS: dict[type, Declaration] = {}


def writes_to(model: type[Base], compare: tuple[str, ...] = (), stamp: str = "") -> Callable[[RowType], RowType]:
    """Declare a NamedTuple as rows of a table. For `compare` and `stamp`, see Declaration.

    A field whose type is a NamedTuple represents the columns that are the fields of that type.
    """

    def declare(row_type: RowType) -> RowType:
        kinds = get_type_hints(row_type)
        grouped_columns: dict[str, tuple[str, ...]] = {
            name: getattr(kind, "_fields", ()) for name, kind in kinds.items()
        }
        columns = (column for name, group in grouped_columns.items() for column in group or (name,))
        groups = (index for index, group in enumerate(grouped_columns.values()) if group)
        _DECLARATIONS[row_type] = Declaration(model.__table__, tuple(columns), compare, stamp, tuple(groups))
        return row_type

    return declare


def declaration_of(row_type: type) -> Declaration:
    """Return the declaration of a row type. Raises KeyError for a type that was not declared."""
    return _DECLARATIONS[row_type]


def list_row_types() -> Iterable[type]:
    """Return the row types of the modules that were imported."""
    return _DECLARATIONS.keys()


def flatten(declaration: Declaration, rows: Sequence[PlainRow]) -> Sequence[PlainRow]:
    """Return the rows as plain tuples with a value for each column. sqlite3 needs 2 µs more to bind a NamedTuple."""
    if not declaration.groups:
        return list(map(tuple, rows))
    for index in reversed(declaration.groups):
        rows = [(*row[:index], *row[index], *row[index + 1 :]) for row in rows]
    return rows
