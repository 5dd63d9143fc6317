"""A SQLite database copied into memory, and one statement run on the copy within limits.

The file is opened read-only and never written. An authorizer of the copy permits only listed tables and functions,
even if the parser misreads a statement. Processor time, rows and their JSON text are bounded, and texts have at most
`MAX_TEXT` bytes. The process's limit bounds memory (`lumos_queue.util.sandbox`). If a single operation inside SQLite
takes too long, the process ends.

Comparisons of texts ignore case, as MySQL's collations do (spec/lumos.md 9b): always for columns of the copy, and for
other expressions where `for_sqlite` adds it, in comparisons, sorting and grouping. Case still matters for letters
outside ASCII; for expressions other than columns in SELECT DISTINCT, UNION, INTERSECT, EXCEPT, MIN and MAX; and for
INSTR, REPLACE and FIELD.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lumos_queue.actions.sql.functions import CLOCKS, INTERNAL, OFFERED, add_functions
from lumos_queue.errors import ActionError
from lumos_queue.util.regular_file import UnusableFile, open_regular

MAX_FILE = 256 << 20  #: bytes of a database
MAX_ROWS = 30_000  #: of a result
MAX_BYTES = 300_000  #: of a result, as JSON: it is stored whole by the worker's event loop
MAX_TEXT = 1_000_000  #: bytes of one text
SECONDS = 5.0  #: of processor time for one statement
_EVERY = 10_000  #: operations of SQLite's machine between two checks of the time
_HEADER = b"SQLite format 3\0"
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_ ]*(?:\(\s*\d+\s*(?:,\s*\d+\s*)?\))?")
_FUNCTION = re.compile(r"not authorized to use function: (\w+)")
_LITERAL = re.compile(r"[-+]?\d+(?:\.\d+)?|'(?:[^']|'')*'|NULL", re.IGNORECASE)
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_TEXT,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 1000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_CHANGES = frozenset(
    (
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_REINDEX,
    )
)


@dataclass(frozen=True, slots=True)
class ResultRows:
    """Column names and rows of a statement; both are empty for a statement without a result."""

    columns: tuple[str, ...]
    rows: list[list[Any]]


def open_copy(path: Path) -> sqlite3.Connection:
    """Return a copy of a database in memory. Raises ActionError of kind no_database for a file that is no database."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise ActionError("no_database", f"the database has more than {MAX_FILE >> 20} MiB")
        with open_regular(path, path.parent.parent) as file:  # FOLDER/NAME/NAME.sqlite
            if file.read(len(_HEADER)) != _HEADER:
                raise ActionError("no_database", f"'{path.name}' is no SQLite database")
    except OSError as error:
        raise ActionError("no_database", f"cannot read '{path.name}': {error.strerror}") from None
    except UnusableFile as error:
        raise ActionError("no_database", f"'{path.name}' {error.problem}") from None
    copy = sqlite3.connect(":memory:", isolation_level=None, uri=True, cached_statements=0)
    try:
        copy.execute("PRAGMA trusted_schema=OFF")
        copy.execute("PRAGMA temp_store=MEMORY")
        copy.execute("ATTACH ? AS source", (f"file:{quote(str(path))}?mode=ro&immutable=1",))
        names = [
            name for (name,) in copy.execute("SELECT name FROM source.sqlite_master WHERE type = 'table'").fetchall()
        ]
        for name in names:
            if not name.lower().startswith("sqlite_"):
                _copy_table(copy, name)
        copy.execute("DETACH source")
    except sqlite3.Error as error:
        copy.close()
        raise ActionError("no_database", f"'{path.name}' cannot be read as a SQLite database: {error}") from None
    return copy


def _copy_table(copy: sqlite3.Connection, name: str) -> None:
    """Copy a table with its columns, its primary key, and its rows in the same order."""
    columns = table_columns(copy, name, "source")
    names = ", ".join(quote_name(column.name) for column in columns)
    for with_key in (True, False):  # without its key where two keys differ in case alone
        copy.execute(f"CREATE TABLE main.{quote_name(name)} ({_definitions(columns, with_key)})")
        try:
            copy.execute(f"INSERT INTO main.{quote_name(name)} ({names}) SELECT {names} FROM source.{quote_name(name)}")
            return
        except sqlite3.IntegrityError:
            copy.execute(f"DROP TABLE main.{quote_name(name)}")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as the file declares it. `key`: its position in the primary key from 1, or 0 outside of the key."""

    name: str
    type: str
    required: bool
    default: str | None
    key: int


#: The columns of each table, both in the order of their creation.
Tables = Mapping[str, Sequence[TableColumn]]


def read_tables(copy: sqlite3.Connection) -> Tables:
    return {name: table_columns(copy, name) for name in table_names(copy)}


def table_columns(connection: sqlite3.Connection, table: str, schema: str = "main") -> list[TableColumn]:
    """Return the columns of a table in order; [] for an unknown table."""
    rows = connection.execute(f"PRAGMA {schema}.table_xinfo({quote_name(table)})").fetchall()
    return [
        TableColumn(name, kind if _TYPE.fullmatch(kind or "") else "", bool(not_null), default, key)
        for _, name, kind, not_null, default, key, hidden_kind in rows
        if hidden_kind != 1
    ]


def _definitions(columns: Sequence[TableColumn], with_key: bool) -> str:
    parts = []
    for column in columns:
        not_null = " NOT NULL" if column.required and with_key else ""
        default = f" DEFAULT {column.default}" if column.default and _LITERAL.fullmatch(column.default) else ""
        parts.append(f"{quote_name(column.name)} {column.type} COLLATE NOCASE{not_null}{default}")
    key = [column.name for column in sorted(columns, key=lambda column: column.key) if column.key]
    if key and with_key:
        parts.append(f"PRIMARY KEY ({', '.join(map(quote_name, key))})")
    return ", ".join(parts)


def table_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the tables in the order of their creation."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
    return [name for (name,) in rows if not name.lower().startswith("sqlite_")]


def copy_database(copy: sqlite3.Connection) -> sqlite3.Connection:
    """Return a second copy of a database for writes, because all requests share the first copy."""
    writable_copy = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    copy.backup(writable_copy)
    return writable_copy


def run(copy: sqlite3.Connection, statement: str, writes: bool = False) -> ResultRows:
    """Return the rows of one statement that `dialect` wrote. Raises MemoryError at the process's limit of memory.

    Raises ActionError of kind sql_error, refused, timeout or too_large.
    """
    tables = {name.casefold() for name in table_names(copy)}
    deadline = time.process_time() + SECONDS
    add_functions(copy)
    copy.text_factory = lambda data: data.decode("utf-8", "replace")
    for limit, maximum in _LIMITS.items():
        copy.setlimit(limit, maximum)
    copy.execute("PRAGMA trusted_schema=OFF")
    copy.execute("PRAGMA temp_store=MEMORY")
    copy.execute(f"PRAGMA query_only={'OFF' if writes else 'ON'}")
    copy.set_progress_handler(lambda: int(time.process_time() > deadline), _EVERY)
    copy.set_authorizer(_authorizer(tables, writes))
    try:
        return _fetch(copy.execute(statement))
    except sqlite3.Warning as error:  # several statements, which the parser has excluded
        raise ActionError("several", str(error)) from None
    except sqlite3.Error as error:
        raise _failure(error) from None
    finally:
        copy.set_authorizer(None)
        copy.set_progress_handler(None, 0)


def _authorizer(tables: set[str], writes: bool) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return a function with which SQLite checks each operation: it permits only `tables` and listed functions."""

    def decide(action: int, first: str | None, second: str | None, schema: str | None, inner: str | None) -> int:
        if action == sqlite3.SQLITE_SELECT:
            right = True
        elif schema == "temp":  # SQLite looks for views there when a table or column is renamed
            right = writes and first == "sqlite_temp_master" and action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE)
        elif action == sqlite3.SQLITE_READ:  # the engine itself reads its catalogue when tables are changed
            right = (first or "").casefold() in tables or (writes and schema in ("main", None))
        elif action == sqlite3.SQLITE_FUNCTION:
            name = (second or "").lower()
            right = (name in INTERNAL or name in OFFERED - CLOCKS) if writes else name in OFFERED
        elif action == sqlite3.SQLITE_TRANSACTION:
            right = writes
        elif action == sqlite3.SQLITE_ALTER_TABLE:  # its schema is `first`; `schema` is a dropped column
            right = writes and first == "main"
        else:
            right = writes and action in _CHANGES and schema in ("main", None)
        return sqlite3.SQLITE_OK if right else sqlite3.SQLITE_DENY

    return decide


def _fetch(cursor: sqlite3.Cursor) -> ResultRows:
    if cursor.description is None:
        cursor.fetchall()
        return ResultRows((), [])
    rows, size = [], 0
    for row in cursor:
        rows.append([value if not isinstance(value, bytes) else repr(value) for value in row])
        size += len(json.dumps(rows[-1]))
        if len(rows) > MAX_ROWS or size > MAX_BYTES:
            cursor.close()
            raise ActionError(
                "too_large", f"the result has more than {MAX_ROWS} rows or {MAX_BYTES} characters: use LIMIT"
            )
    return ResultRows(tuple(name for name, *_ in cursor.description), rows)


def _failure(error: sqlite3.Error) -> ActionError:
    text = str(error)
    if text == "interrupted":
        return ActionError("timeout", f"the statement needs more than {SECONDS:g} s of processor time")
    clock = _FUNCTION.search(text)
    if clock and clock[1].lower() in CLOCKS:
        return ActionError("refused", f"what is written may not depend on the time: no {clock[1].upper()} here")
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return ActionError("refused", f"this statement may not do that: {text}")
    if "too big" in text:
        return ActionError("too_large", f"a text may have {MAX_TEXT} bytes")
    return ActionError("sql_error", text)


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
