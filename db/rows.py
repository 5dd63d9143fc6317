"""Many rows in one statement. The rows travel as one JSON parameter, and the database takes them apart:
no ORM instance, no lock hand-over per row, the same path on SQLite and PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import JSON, Connection, Table, text

from lumos_queue.errors import LumosError


class RowsDiffer(LumosError):
    """Raised when a row that arrives again is not the row that is stored: the journal would no longer be the truth."""


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    compare: tuple[str, ...] = (),
) -> int:
    """Insert `rows`; one whose key is stored already is left alone. Returns how many were new.

    JSON columns take Python values. With `compare`, rows left alone must equal what is stored in these columns,
    or RowsDiffer is raised.
    """
    if not rows:
        return 0
    payload = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    new = connection.execute(_insert(connection.dialect.name, table, columns), {"rows": payload}).rowcount
    if compare and new < len(rows):
        differing = connection.execute(_differing(connection.dialect.name, table, columns, compare), {"rows": payload})
        if first := differing.first():
            raise RowsDiffer(f"{table.name} {tuple(first)} is stored with other content than what arrives again")
    return new


@cache
def _insert(dialect: str, table: Table, columns: tuple[str, ...]):
    names = ", ".join(f'"{name}"' for name in columns)
    # "WHERE true" keeps SQLite from reading ON CONFLICT as a join constraint.
    return text(
        f'INSERT INTO "{table.name}" ({names}) SELECT {_selected(dialect, table, columns)} '
        f"FROM {_unnested(dialect)} WHERE true ON CONFLICT DO NOTHING"
    )


@cache
def _differing(dialect: str, table: Table, columns: tuple[str, ...], compare: tuple[str, ...]):
    keys = [column.name for column in table.primary_key.columns]
    arriving = f"SELECT {_selected(dialect, table, columns)} FROM {_unnested(dialect)}"
    same = " AND ".join(f's."{name}" = a."{name}"' for name in keys)
    differs = " OR ".join(f's."{name}" <> a."{name}"' for name in compare)
    shown = ", ".join(f's."{name}"' for name in keys)
    return text(f'SELECT {shown} FROM "{table.name}" s JOIN ({arriving}) a ON {same} WHERE {differs} LIMIT 1')


def _unnested(dialect: str) -> str:
    if dialect == "postgresql":
        return "json_array_elements(CAST(:rows AS json)) AS r(value)"
    return "json_each(:rows) AS r"


def _selected(dialect: str, table: Table, columns: tuple[str, ...]) -> str:
    parts = []
    for index, name in enumerate(columns):
        kind = table.columns[name].type
        arrow = "->" if isinstance(kind, JSON) else "->>"
        if dialect == "postgresql":
            part = f"CAST(r.value {arrow} {index} AS {kind.compile(dialect=_postgresql())})"
        else:
            part = f"r.value {arrow} '$[{index}]'"
        parts.append(f'{part} AS "{name}"')
    return ", ".join(parts)


@cache
def _postgresql():
    from sqlalchemy.dialects import postgresql

    return postgresql.dialect()
