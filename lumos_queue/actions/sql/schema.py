"""The schema of a database as text: SHOW TABLES as in LUMOS, DESCRIBE as in MySQL (spec/lumos.md 1.10)."""

from __future__ import annotations

import sqlite3
from typing import Any

from lumos_queue.actions.sql.database import TableColumn, table_columns, table_names
from lumos_queue.errors import ActionError

DESCRIBED = ("Field", "Type", "Null", "Key", "Default", "Extra")
#: Spider's kinds of columns, by parts of the declared type; the first match counts.
_KINDS = (
    ("TEXT", ("char", "text", "var")),
    ("NUMBER", ("int", "numeric", "decimal", "number", "id", "real", "double", "float")),
    ("TIME", ("date", "time", "year")),
    ("BOOLEAN", ("boolean",)),
)


def kind_of(declaration: str) -> str:
    """Return the kind of a declared type (TEXT, NUMBER, TIME, BOOLEAN or OTHERS), as in Spider's tables.json."""
    declaration = declaration.lower()
    if not declaration:
        return "TEXT"
    return next((kind for kind, parts in _KINDS if any(part in declaration for part in parts)), "OTHERS")


def show_tables(connection: sqlite3.Connection) -> str:
    """Return `Table hat has name (type: TEXT), price (type: NUMBER); Table …`, in the order of creation."""
    return write_tables([(name, table_columns(connection, name)) for name in table_names(connection)])


def write_tables(tables: list[tuple[str, list[TableColumn]]]) -> str:
    return "; ".join(
        f"Table {name} has {', '.join(f'{column.name} (type: {kind_of(column.type)})' for column in columns)}"
        for name, columns in tables
    )


def describe_table(connection: sqlite3.Connection, table: str, database: str) -> list[list[Any]]:
    """Return the rows of DESCRIBE, one for each column of a table. Raises ActionError for an unknown table."""
    names = {name.casefold(): name for name in table_names(connection)}
    if table.casefold() not in names:
        raise ActionError("sql_error", f"Table '{database}.{table[:60]}' doesn't exist")
    return [
        [
            column.name,
            column.type.lower(),
            "NO" if is_required(column) else "YES",
            "PRI" if column.key else "",
            default_text(column),
            "",
        ]
        for column in table_columns(connection, names[table.casefold()])
    ]


def is_required(column: TableColumn) -> bool:
    """Return whether the column cannot be NULL."""
    return column.required or bool(column.key)


def default_text(column: TableColumn) -> str | None:
    """Return the column's default as MySQL shows it, without quotes; None without a default."""
    return column.default.strip("'") if column.default and column.default.upper() != "NULL" else None
