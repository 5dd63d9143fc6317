"""Provide INFORMATION_SCHEMA, which describes a database to agents: only TABLES and COLUMNS of the task's database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from lumos_queue.actions.sql.database import TableColumn, Tables
from lumos_queue.actions.sql.schema import default_text, is_required

_TABLES = ("TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE")
_COLUMNS = (
    "TABLE_CATALOG",
    "TABLE_SCHEMA",
    "TABLE_NAME",
    "COLUMN_NAME",
    "ORDINAL_POSITION",
    "COLUMN_DEFAULT",
    "IS_NULLABLE",
    "DATA_TYPE",
    "COLUMN_TYPE",
    "COLUMN_KEY",
    "EXTRA",
)
OFFERED: Mapping[str, Sequence[str]] = {"tables": _TABLES, "columns": _COLUMNS}
NAME = "information_schema"


def is_catalogue(table: exp.Table) -> bool:
    return table.db.casefold() == NAME


def keep_to_database(tree: exp.Expr, database: str) -> exp.Expr:
    """Return a copy of a statement for a server. In the copy, the catalogue contains only rows of this database."""

    def narrow(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and is_catalogue(node):
            whole = exp.to_table(f"{NAME}.{node.name.upper()}")
            condition = exp.column("TABLE_SCHEMA").eq(exp.Literal.string(database))
            return _as_table(exp.select("*").from_(whole).where(condition), node)
        return node

    return tree.transform(narrow)


def insert_catalogue(tree: exp.Expr, database: str, tables: Tables) -> exp.Expr:
    """Replace the catalogue in the statement by rows made from `tables`. Return the statement."""
    for node in list(tree.find_all(exp.Table)):
        if is_catalogue(node):
            names = OFFERED[node.name.casefold()]
            rows = _table_rows(database, tables) if names is _TABLES else _column_rows(database, tables)
            columns = [
                exp.alias_(exp.column(f"column{number}"), name, quoted=True) for number, name in enumerate(names, 1)
            ]
            # SQL has no VALUES without rows: a row that a false condition excludes replaces it.
            values = exp.values(rows or [(None,) * len(names)], alias="_")
            query = exp.select(*columns).from_(values)
            node.replace(_as_table(query if rows else query.where(exp.false()), node))
    return tree


def _as_table(query: exp.Select, table: exp.Table) -> exp.Subquery:
    """Return a query as a subquery that can replace a table. It has the table's name in the statement."""
    subquery = query.subquery(alias=table.alias_or_name, copy=False)
    subquery.set("joins", table.args.get("joins"))
    return subquery


def _table_rows(database: str, tables: Tables) -> list[tuple[Any, ...]]:
    return [("def", database, name, "BASE TABLE") for name in tables]


def _column_rows(database: str, tables: Tables) -> list[tuple[Any, ...]]:
    return [
        (
            "def",
            database,
            table,
            column.name,
            position,
            default_text(column),
            "NO" if is_required(column) else "YES",
            _type(column),
            column.type.lower(),
            "PRI" if column.key else "",
            "",
        )
        for table, columns in tables.items()
        for position, column in enumerate(columns, 1)
    ]


def _type(column: TableColumn) -> str:
    """Return the column's type without its sizes."""
    return column.type.lower().partition("(")[0].strip()
