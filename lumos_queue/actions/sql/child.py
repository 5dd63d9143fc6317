"""The program of the killable child process. A request is one statement on a fresh copy of a database.

    {"text": "SELECT …", "name": "world_1", "file": "/…/world_1.sqlite", "writes": null}

`writes` is null if the database is read only. Otherwise it lists the earlier writes of the episode, which run again
on a new copy before the statement. So no request depends on another, and a child may die at any time.
The reply has `kind` and the output of that kind of statement, or `error` and `message`.
"""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.actions.sql import mysql
from lumos_queue.actions.sql.database import (
    SECONDS,
    ResultRows,
    copy_database,
    open_copy,
    read_tables,
    run,
    table_names,
)
from lumos_queue.actions.sql.dialect import Statement, read_statement
from lumos_queue.actions.sql.schema import DESCRIBED, describe_table, show_tables
from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.util.sandbox import serve
from lumos_queue.util.sanitize import storable_json

MAX_COPIES = 4  #: databases kept in memory between requests
HARD_SECONDS = 1.0  #: of processor time beyond a statement's limit: then the process ends

_copies: dict[tuple[str, int, int], sqlite3.Connection] = {}


def main() -> None:
    serve(handle)


def handle(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the storable reply to a request. `serve` handles its MemoryError and RecursionError."""
    return {name: storable_json(value) for name, value in _handle(request).items()}


def _handle(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        statement = read_statement(request["text"], request["name"], request["writes"] is not None)
        if "server" in request:
            return mysql.answer(statement, request)
        return _answer(statement, request)
    except ActionError as error:
        return {"error": error.kind, "message": str(error)}
    except InfrastructureError as error:
        return {"error": "infrastructure", "message": str(error)}


def _answer(statement: Statement, request: Mapping[str, Any]) -> dict[str, Any]:
    copy, earlier = _copy(Path(request["file"])), []
    if request["writes"]:
        copy = copy_database(copy)
        earlier = [_count_changes(copy, read_statement(text, request["name"], True)) for text in request["writes"]]
    if statement.kind == "tables":
        names = sorted(table_names(copy), key=str.casefold)
        table_rows = ResultRows((f"Tables_in_{request['name']}",), [[name] for name in names])
        reply = _rows(table_rows, shown=show_tables(copy))
    elif statement.kind == "columns":
        reply = _rows(ResultRows(DESCRIBED, describe_table(copy, statement.table, request["name"])))
    elif statement.kind == "write":
        reply = {"changed": _count_changes(copy if request["writes"] else copy_database(copy), statement)}
    else:
        plan = "EXPLAIN QUERY PLAN " if statement.kind == "plan" else ""
        sql = statement.sqlite(read_tables(copy))
        reply = _rows(_run_limited(copy, f"{plan}{sql}"), sql=sql)
    return {"kind": statement.kind, "earlier": earlier, **reply}


def _rows(result_rows: ResultRows, **extra_fields: Any) -> dict[str, Any]:
    return {"columns": list(result_rows.columns), "rows": result_rows.rows, **extra_fields}


def _count_changes(copy: sqlite3.Connection, statement: Statement) -> int:
    """Run a statement and return how many rows it changed."""
    before = copy.total_changes
    _run_limited(copy, statement.sqlite(read_tables(copy)), writes=True)
    return copy.total_changes - before


def _run_limited(copy: sqlite3.Connection, statement: str, writes: bool = False) -> ResultRows:
    """Run a statement, and interrupt it after its time. If SQLite cannot interrupt it, the kernel ends this process."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS + HARD_SECONDS)
    return run(copy, statement, writes)


def _copy(path: Path) -> sqlite3.Connection:
    """Return a copy of a file's database in memory. Requests share the copy, and never write to it."""
    try:
        state = path.stat()
    except OSError as error:
        raise ActionError("no_database", f"cannot read '{path.name}': {error.strerror}") from None
    key = (str(path), state.st_mtime_ns, state.st_size)
    if key not in _copies:
        if len(_copies) >= MAX_COPIES:
            _copies.pop(next(iter(_copies))).close()
        _copies[key] = open_copy(path)
    return _copies[key]
