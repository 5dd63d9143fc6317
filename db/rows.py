"""Many rows in one statement. The rows travel as one JSON parameter, and the database takes them apart:
no ORM instance, no lock hand-over per row, the same path on SQLite and PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import JSON, Connection, Table, text

from db.connection import now
from lumos_queue.errors import LumosError


class RowsDiffer(LumosError):
    """Raised when a row that arrives again is not the row that is stored: the journal would no longer be the truth."""


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    compare: tuple[str, ...] = (),
    stamp: str = "",
) -> int:
    """Insert `rows`; one whose key is stored already is left alone. Returns how many were new.

    JSON columns take Python values. With `compare`, rows left alone must equal what is stored in these columns,
    or RowsDiffer is raised. `stamp` names one more column, which gets the time by the database's clock.
    """
    if not rows:
        return 0
    payload = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    new = connection.execute(_insert(connection.dialect.name, table, columns, stamp), {"rows": payload}).rowcount
    if compare and new < len(rows):
        differing = connection.execute(_differing(connection.dialect.name, table, columns, compare), {"rows": payload})
        if first := differing.first():
            raise RowsDiffer(f"{table.name} {tuple(first)} is stored with other content than what arrives again")
    return new


def update_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    only: str,
    stamp: str = "",
) -> None:
    """Set `columns` of the rows whose key is the first of them, where the stored row satisfies `only` (SQL).

    `stamp` as for `insert_rows`.
    """
    if rows:
        payload = json.dumps(rows, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        connection.execute(_update(connection.dialect.name, table, columns, only, stamp), {"rows": payload})


@cache
def _insert(dialect: str, table: Table, columns: tuple[str, ...], stamp: str):
    names = ", ".join(f'"{name}"' for name in (*columns, *([stamp] if stamp else [])))
    values = _selected(dialect, table, columns) + (f", {clock(dialect)}" if stamp else "")
    # "WHERE true" keeps SQLite from reading ON CONFLICT as a join constraint.
    return text(
        f'INSERT INTO "{table.name}" ({names}) SELECT {values} '
        f"FROM {_unnested(dialect)} WHERE true ON CONFLICT DO NOTHING"
    )


@cache
def _update(dialect: str, table: Table, columns: tuple[str, ...], only: str, stamp: str):
    key, *others = columns
    changes = ", ".join(f'"{name}" = a."{name}"' for name in others)
    changes += f', "{stamp}" = {clock(dialect)}' if stamp else ""
    arriving = f"SELECT {_selected(dialect, table, columns)} FROM {_unnested(dialect)}"
    return text(
        f'UPDATE "{table.name}" AS s SET {changes} FROM ({arriving}) AS a WHERE s."{key}" = a."{key}" AND {only}'
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


def clock(dialect: str) -> str:
    """The database's clock in its own words."""
    return str(now().compile(dialect=_postgresql() if dialect == "postgresql" else _sqlite()))


@cache
def _postgresql():
    from sqlalchemy.dialects import postgresql

    return postgresql.dialect()


@cache
def _sqlite():
    from sqlalchemy.dialects import sqlite

    return sqlite.dialect()
