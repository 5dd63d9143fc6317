"""Write many rows at once (rows/), without an ORM instance for each. JSON columns get text that `as_json` made.

PostgreSQL gets the rows of all tables in one statement. The statement has one JSON parameter for each table, and the
database splits it into rows. SQLite gets one prepared statement for each table, because the event loop itself writes
to it (docs/decisions/0008).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlalchemy import ClauseElement, Connection, Dialect, Float, LargeBinary, Table, TextClause, literal_column, text
from sqlalchemy.exc import DBAPIError

from db.engine.connection import now
from db.engine.failures import as_failure
from db.engine.rows.declaration import Declaration, PlainRow, declaration_of, flatten
from db.engine.time_conditions import now_after
from db.models.base import Base
from lumos_queue.errors import LumosError

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy.dialects import postgresql, sqlite

Row = TypeVar("Row", bound=PlainRow)


class RowsDiffer(LumosError):
    """Raised when a row with the key of a stored row is sent, but its content differs from the stored content."""


def insert_into(connection: Connection, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    """Return the INSERT statement of the database's dialect, which unlike SQLAlchemy's own supports ON CONFLICT."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


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

    def insert(self, row_type: type[Row], rows: Sequence[Row]) -> None:
        """Insert `rows`. A row whose key is stored already is skipped.

        A skipped row must equal the stored row in the declared columns `compare`. If not, RowsDiffer is raised, on
        PostgreSQL by `send`.
        """
        if not rows:
            return
        declaration = declaration_of(row_type)
        values = flatten(declaration, rows)
        if self._dialect == "sqlite":
            new = self._connection.exec_driver_sql(_insert_each(declaration), values).rowcount
            self._compare(declaration, values, new)
        else:
            self._parts.append(_Part(_insert(declaration), declaration, values, bool(declaration.compare)))

    def update(self, row_type: type[Row], rows: Sequence[Row], only: str) -> None:
        """Set columns of stored rows. The first column is the key; a row that does not satisfy `only` (SQL) stays.

        The declared column `stamp` gets the time by the database's clock, or the row's `started_at` if that is later.
        """
        if not rows:
            return
        declaration = declaration_of(row_type)
        values = flatten(declaration, rows)
        if self._dialect == "sqlite":
            key_last = [(*cells, key) for key, *cells in values]
            self._connection.exec_driver_sql(_update_each(declaration, only), key_last)
        else:
            self._parts.append(_Part(_update(declaration, only), declaration, values))

    def add(self, row_type: type[Row], rows: Sequence[Row]) -> None:
        """Insert rows of sums, or add them to the stored rows with their keys. Rows with equal keys are added up."""
        if not rows:
            return
        declaration = declaration_of(row_type)
        values = _add_up(declaration, flatten(declaration, rows))
        if self._dialect == "sqlite":
            self._connection.exec_driver_sql(_add_each(declaration), values)
        else:
            self._parts.append(_Part(_add(declaration), declaration, values))

    def send(self) -> None:
        """Write the rows that have not been written yet. Raises RowsDiffer, as `insert` describes."""
        if not self._parts:
            return
        parts, self._parts = self._parts, []
        statement = _in_one(tuple((part.statement, part.is_compared) for part in parts))
        values = {f"rows{number}": _write_rows(part.values) for number, part in enumerate(parts)}
        counts = iter(self._connection.execute(statement, values).one())
        for part in parts:
            if part.is_compared:
                self._compare(part.declaration, part.values, next(counts))

    def _compare(self, declaration: Declaration, values: Sequence[PlainRow], new: int) -> None:
        """Compare the stored rows with `values`, unless all of these are new."""
        if declaration.compare and new < len(values):
            statement = _select_difference(self._dialect, declaration)
            if first := self._connection.execute(statement, {"rows": _write_rows(values)}).first():
                table = declaration.table.name
                raise RowsDiffer(f"{table} {tuple(first)} is stored with other content than what arrives again")


class _Part(NamedTuple):
    """The rows for one table, and the statement that writes them."""

    statement: str  #: SQL of PostgreSQL, with `:rows`
    declaration: Declaration
    values: Sequence[PlainRow]
    is_compared: bool = False


def _add_up(declaration: Declaration, rows: Sequence[PlainRow]) -> Sequence[PlainRow]:
    """Return one row for each key, with the sums of the other columns. The key's columns come first."""
    width = len(declaration.table.primary_key.columns)
    sums: dict[PlainRow, PlainRow] = {}
    for row in rows:
        key = row[:width]
        former = sums.get(key)
        sums[key] = row if former is None else (*key, *map(add, former[width:], row[width:]))
    return list(sums.values())


def insert_rows(connection: Connection, row_type: type[Row], rows: Sequence[Row]) -> None:
    """Insert rows into one table at once. The arguments are those of `Writes.insert`."""
    with Writes(connection) as writes:
        writes.insert(row_type, rows)


def update_rows(connection: Connection, row_type: type[Row], rows: Sequence[Row], only: str) -> None:
    """Update rows of one table at once. The arguments are those of `Writes.update`."""
    with Writes(connection) as writes:
        writes.update(row_type, rows, only)


def render_addition(table: Table) -> str:
    """Return the SQL that adds the values of an INSERT to the stored row of sums."""
    keys = [column.name for column in table.primary_key.columns]
    sums = (column.name for column in table.columns if not column.primary_key)
    changes = ", ".join(f'"{name}" = "{table.name}"."{name}" + excluded."{name}"' for name in sums)
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


def copy_rows(connection: Connection, row_type: type[Row], rows: Sequence[Row]) -> None:
    """Insert very many rows. They are not compared with stored rows, and they have no `stamp`.

    If the key of a row is stored already, PostgreSQL refuses all rows. SQLite skips that row.
    """
    declaration = declaration_of(row_type)
    values = flatten(declaration, rows)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_insert_each(declaration), values)
        return
    import psycopg

    statement = f'COPY "{declaration.table.name}" ({_names(declaration.columns)}) FROM STDIN'
    session: psycopg.Connection[tuple[object, ...]] | None = connection.connection.driver_connection
    assert session is not None
    try:
        with session.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            for row in values:
                copy.write_row(row)
    except psycopg.Error as error:  # SQLAlchemy does not know this statement
        wrapped_error = DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect)
        raise as_failure(wrapped_error) from error


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


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


@cache
def _insert_each(declaration: Declaration) -> str:
    return f"{_insert_into(declaration)} VALUES ({_stamp_values('sqlite', declaration)}) ON CONFLICT DO NOTHING"


@cache
def _insert(declaration: Declaration) -> str:
    values = _stamp_values("postgresql", declaration)
    return f"{_insert_into(declaration)} SELECT {values} FROM {_unnest('postgresql')} ON CONFLICT DO NOTHING"


def _insert_into(declaration: Declaration) -> str:
    stamps = (declaration.stamp,) if declaration.stamp else ()
    return f'INSERT INTO "{declaration.table.name}" ({_names((*declaration.columns, *stamps))})'


def _stamp_values(dialect: str, declaration: Declaration) -> str:
    """Return the values of an INSERT; the last is the time if the rows have a stamp."""
    marks = ["?"] * len(declaration.columns) if dialect == "sqlite" else _values(dialect, declaration)
    return ", ".join([*marks, *([compile_sql(dialect, now())] if declaration.stamp else [])])


@cache
def _add_each(declaration: Declaration) -> str:
    table, columns = declaration.table, declaration.columns
    marks = ", ".join("?" * len(columns))
    return f'INSERT INTO "{table.name}" ({_names(columns)}) VALUES ({marks}) {render_addition(table)}'


@cache
def _add(declaration: Declaration) -> str:
    query = f"SELECT {', '.join(_values('postgresql', declaration))} FROM {_unnest('postgresql')}"
    table = declaration.table
    return f'INSERT INTO "{table.name}" ({_names(declaration.columns)}) {query} {render_addition(table)}'


@cache
def _update_each(declaration: Declaration, only: str) -> str:
    key, *changed_columns = declaration.columns
    changes = ", ".join(f'"{name}" = ?' for name in changed_columns) + _set_end("sqlite", declaration.stamp)
    return f'UPDATE "{declaration.table.name}" AS s SET {changes} WHERE s."{key}" = ? AND {only}'


@cache
def _update(declaration: Declaration, only: str) -> str:
    key, *changed_columns = declaration.columns
    changes = ", ".join(f'"{name}" = a."{name}"' for name in changed_columns)
    changes += _set_end("postgresql", declaration.stamp)
    query = f"SELECT {_select('postgresql', declaration)} FROM {_unnest('postgresql')}"
    table = declaration.table.name
    return f'UPDATE "{table}" AS s SET {changes} FROM ({query}) AS a WHERE s."{key}" = a."{key}" AND {only}'


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
def _select_difference(dialect: str, declaration: Declaration) -> TextClause:
    table, compare = declaration.table, declaration.compare
    keys = [column.name for column in table.primary_key.columns]
    query = f"SELECT {_select(dialect, declaration)} FROM {_unnest(dialect)}"
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


def _select(dialect: str, declaration: Declaration) -> str:
    values = zip(_values(dialect, declaration), declaration.columns, strict=True)
    return ", ".join(f'{value} AS "{name}"' for value, name in values)


def _values(dialect: str, declaration: Declaration) -> list[str]:
    """Return for each column the SQL that reads it from a row of the JSON."""
    columns = declaration.columns
    if dialect == "sqlite":
        return [f"r.value ->> '$[{index}]'" for index in range(len(columns))]
    types = (declaration.table.columns[name].type.compile(dialect=_postgresql()) for name in columns)
    return [f"CAST(r.value ->> {index} AS {kind})" for index, kind in enumerate(types)]


def _set_end(dialect: str, stamp: str) -> str:
    """Return the SQL that sets the column `stamp` of an UPDATE; '' without one."""
    return f', "{stamp}" = {compile_sql(dialect, now_after(literal_column("s.started_at", Float)))}' if stamp else ""


def compile_sql(dialect: str, expression: ClauseElement) -> str:
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
