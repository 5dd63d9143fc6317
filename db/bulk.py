"""Write many rows at once, without an ORM instance for each. The value of a JSON column is text that `as_json` made.

PostgreSQL gets the rows of all tables in one statement. The statement has one JSON parameter for each table, and the
database splits it into rows. SQLite gets one prepared statement for each table, because the event loop itself writes
to it (docs/decisions/0008).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Dialect, Float, LargeBinary, Table, TextClause, literal_column, text
from sqlalchemy.exc import DBAPIError

from db.connection import now
from db.time_conditions import now_after
from lumos_queue.errors import LumosError


class RowsDiffer(LumosError):
    """Raised when a row with the key of a stored row is sent, but its content differs from the stored content."""


def insert_into(connection: Connection, table: type) -> Any:
    """Return the INSERT statement of the database's dialect, which unlike SQLAlchemy's own supports ON CONFLICT."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql as dialect
    else:
        from sqlalchemy.dialects import sqlite as dialect
    return dialect.insert(table)


class Writes:
    """Collects rows for several tables, and writes them. Use it as a context manager: its end sends the remaining rows.

    SQLite gets the rows of each call at once. PostgreSQL gets all rows in one statement at `send`. The parts of that
    statement do not see each other's rows, so no row may be written twice.
    """

    def __init__(self, connection: Connection):
        self._connection = connection
        self._dialect = connection.dialect.name
        self._parts: list[_Part] = []

    def __enter__(self) -> Writes:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.send()

    def insert(
        self,
        table: Table,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
        compare: tuple[str, ...] = (),
        stamp: str = "",
    ) -> None:
        """Insert `rows`. A row whose key is stored already is skipped.

        A skipped row must equal the stored row in the columns `compare`. If not, RowsDiffer is raised, on PostgreSQL
        by `send`. `stamp` names one more column, which gets the time by the database's clock.
        """
        if not rows:
            return
        if self._dialect == "sqlite":
            new = self._connection.exec_driver_sql(_insert_each(table, columns, stamp), rows).rowcount
            self._compare(table, columns, rows, compare, new)
        else:
            self._parts.append(_Part(_insert(table, columns, stamp), table, columns, rows, compare))

    def update(
        self, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]], only: str, stamp: str = ""
    ) -> None:
        """Set `columns` of stored rows. The first column is the key; a row that does not satisfy `only` (SQL) stays.

        `stamp` names a column that gets the time by the database's clock, or the row's `started_at` if that is later.
        """
        if not rows:
            return
        if self._dialect == "sqlite":
            key_last = [(*cells, key) for key, *cells in rows]
            self._connection.exec_driver_sql(_update_each(table, columns, only, stamp), key_last)
        else:
            self._parts.append(_Part(_update(table, columns, only, stamp), table, columns, rows))

    def add(self, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows of sums, or add them to the stored rows with their keys. All other columns are numbers."""
        if not rows:
            return
        if self._dialect == "sqlite":
            self._connection.exec_driver_sql(_add_each(table, columns), list(rows))
        else:
            self._parts.append(_Part(_add(table, columns), table, columns, rows))

    def send(self) -> None:
        """Write the rows that have not been written yet. Raises RowsDiffer, as `insert` describes."""
        if not self._parts:
            return
        parts, self._parts = self._parts, []
        statement = _in_one(tuple((part.statement, bool(part.compare)) for part in parts))
        values = {f"rows{number}": _write_rows(part.rows) for number, part in enumerate(parts)}
        counts = iter(self._connection.execute(statement, values).one())
        for part in parts:
            if part.compare:
                self._compare(part.table, part.columns, part.rows, part.compare, next(counts))

    def _compare(
        self,
        table: Table,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
        compare: tuple[str, ...],
        new: int,
    ) -> None:
        if compare and new < len(rows):
            statement = _select_difference(self._dialect, table, columns, compare)
            if first := self._connection.execute(statement, {"rows": _write_rows(rows)}).first():
                raise RowsDiffer(f"{table.name} {tuple(first)} is stored with other content than what arrives again")


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows for one table, and the statement that writes them."""

    statement: str  #: SQL of PostgreSQL, with `:rows`
    table: Table
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    compare: tuple[str, ...] = ()


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    compare: tuple[str, ...] = (),
    stamp: str = "",
) -> None:
    """Insert rows into one table at once. The arguments are those of `Writes.insert`."""
    with Writes(connection) as writes:
        writes.insert(table, columns, rows, compare, stamp)


def update_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    only: str,
    stamp: str = "",
) -> None:
    """Update rows of one table at once. The arguments are those of `Writes.update`."""
    with Writes(connection) as writes:
        writes.update(table, columns, rows, only, stamp)


def render_addition(table: Table) -> str:
    """Return the SQL that adds the values of an INSERT to the stored row of sums."""
    keys = [column.name for column in table.primary_key.columns]
    sums = (column.name for column in table.columns if not column.primary_key)
    changes = ", ".join(f'"{name}" = "{table.name}"."{name}" + excluded."{name}"' for name in sums)
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


def copy_rows(connection: Connection, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert very many rows. They are not compared with stored rows.

    If the key of a row is stored already, PostgreSQL refuses all rows. SQLite skips that row.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_insert_each(table, columns, ""), rows)
        return
    import psycopg

    names = ", ".join(f'"{name}"' for name in columns)
    statement = f'COPY "{table.name}" ({names}) FROM STDIN'
    session = connection.connection.driver_connection
    assert isinstance(session, psycopg.Connection)
    try:
        with session.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:  # the error that SQLAlchemy raises for its own statements
        raise DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect) from error


#: JSON as it is stored.
as_json = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode  # made once, not for each row


def _as_text(value: object) -> str:
    """Return bytes as text for JSON, in the form that both databases read."""
    if not isinstance(value, bytes):
        raise TypeError(f"a column takes no {type(value).__name__}")
    return f"\\x{value.hex()}"


_write_rows = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_as_text).encode


@cache
def _insert_each(table: Table, columns: tuple[str, ...], stamp: str) -> str:
    names = ", ".join(f'"{name}"' for name in (*columns, *([stamp] if stamp else [])))
    values = ", ".join("?" * len(columns)) + (f", {compile_sql('sqlite', now())}" if stamp else "")
    return f'INSERT INTO "{table.name}" ({names}) VALUES ({values}) ON CONFLICT DO NOTHING'


@cache
def _update_each(table: Table, columns: tuple[str, ...], only: str, stamp: str) -> str:
    key, *changed_columns = columns
    changes = ", ".join(f'"{name}" = ?' for name in changed_columns) + _set_end("sqlite", stamp)
    return f'UPDATE "{table.name}" AS s SET {changes} WHERE s."{key}" = ? AND {only}'


@cache
def _insert(table: Table, columns: tuple[str, ...], stamp: str) -> str:
    names = ", ".join(f'"{name}"' for name in (*columns, *([stamp] if stamp else [])))
    values = ", ".join(_values("postgresql", table, columns)) + (
        f", {compile_sql('postgresql', now())}" if stamp else ""
    )
    return f'INSERT INTO "{table.name}" ({names}) SELECT {values} FROM {_unnest("postgresql")} ON CONFLICT DO NOTHING'


@cache
def _add_each(table: Table, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    return f'INSERT INTO "{table.name}" ({names}) VALUES ({", ".join("?" * len(columns))}) {render_addition(table)}'


@cache
def _add(table: Table, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {', '.join(_values('postgresql', table, columns))} FROM {_unnest('postgresql')}"
    return f'INSERT INTO "{table.name}" ({names}) {query} {render_addition(table)}'


@cache
def _update(table: Table, columns: tuple[str, ...], only: str, stamp: str) -> str:
    key, *changed_columns = columns
    changes = ", ".join(f'"{name}" = a."{name}"' for name in changed_columns)
    changes += _set_end("postgresql", stamp)
    query = f"SELECT {_select('postgresql', table, columns)} FROM {_unnest('postgresql')}"
    return f'UPDATE "{table.name}" AS s SET {changes} FROM ({query}) AS a WHERE s."{key}" = a."{key}" AND {only}'


@cache
def _in_one(parts: tuple[tuple[str, bool], ...]) -> TextClause:
    """Combine pairs (statement, whether its rows are counted) into one statement, which returns the counts."""
    subqueries = [
        f"w{number} AS ({statement.replace(':rows', f':rows{number}')}{' RETURNING 1' if is_counted else ''})"
        for number, (statement, is_counted) in enumerate(parts)
    ]
    counts = [f"(SELECT count(*) FROM w{number})" for number, (_, is_counted) in enumerate(parts) if is_counted]
    return text(f"WITH {', '.join(subqueries)} SELECT {', '.join(counts or ['0'])}")


@cache
def _select_difference(dialect: str, table: Table, columns: tuple[str, ...], compare: tuple[str, ...]) -> TextClause:
    keys = [column.name for column in table.primary_key.columns]
    query = f"SELECT {_select(dialect, table, columns)} FROM {_unnest(dialect)}"
    same = " AND ".join(f's."{name}" = a."{name}"' for name in keys)
    unlike = "IS NOT" if dialect == "sqlite" else "IS DISTINCT FROM"  # also where one of the two is NULL
    stored_columns = {name: f's."{name}"' for name in compare}
    if dialect == "sqlite":  # SQLite has no function that converts text to bytes
        stored_columns |= {
            name: f"'\\x' || lower(hex(s.\"{name}\"))"
            for name in compare
            if isinstance(table.columns[name].type, LargeBinary)
        }
    differs = " OR ".join(f'{stored_columns[name]} {unlike} a."{name}"' for name in compare)
    key_columns = ", ".join(f's."{name}"' for name in keys)
    return text(f'SELECT {key_columns} FROM "{table.name}" s JOIN ({query}) a ON {same} WHERE {differs} LIMIT 1')


def _unnest(dialect: str) -> str:
    if dialect == "postgresql":
        return "jsonb_array_elements(CAST(:rows AS jsonb)) AS r(value)"
    return "json_each(:rows) AS r"


def _select(dialect: str, table: Table, columns: tuple[str, ...]) -> str:
    values = _values(dialect, table, columns)
    return ", ".join(f'{value} AS "{name}"' for value, name in zip(values, columns, strict=True))


def _values(dialect: str, table: Table, columns: tuple[str, ...]) -> list[str]:
    """Return for each column the SQL that reads it from a row of the JSON."""
    if dialect == "sqlite":
        return [f"r.value ->> '$[{index}]'" for index in range(len(columns))]
    types = (table.columns[name].type.compile(dialect=_postgresql()) for name in columns)
    return [f"CAST(r.value ->> {index} AS {kind})" for index, kind in enumerate(types)]


def _set_end(dialect: str, stamp: str) -> str:
    """Return the SQL that sets the column `stamp` of an UPDATE; '' without one."""
    return f', "{stamp}" = {compile_sql(dialect, now_after(literal_column("s.started_at", Float)))}' if stamp else ""


def compile_sql(dialect: str, expression: ColumnElement[Any]) -> str:
    """Return an expression as SQL, with its values written out."""
    compiler = _postgresql() if dialect == "postgresql" else _sqlite()
    return str(expression.compile(dialect=compiler, compile_kwargs={"literal_binds": True}))


@cache
def _postgresql() -> Dialect:
    from sqlalchemy.dialects import postgresql

    return postgresql.dialect()


@cache
def _sqlite() -> Dialect:
    from sqlalchemy.dialects import sqlite

    return sqlite.dialect()
