"""Run statements on a MySQL or MariaDB server, each in a transaction that is always rolled back.

The server's data never changes. Reads use a read-only transaction. If writes are allowed, the episode's earlier writes
run again first, in the same transaction. Statements that define tables are refused, and so are all writes to a database
that has tables of an engine without transactions, because a server cannot roll them back. A column whose default is the
current time gets a new value each time the writes run again. The account should have no other rights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lumos_queue.actions.sql.database import MAX_BYTES, MAX_ROWS, SECONDS, ResultRows, TableColumn
from lumos_queue.actions.sql.dialect import Statement, read_statement
from lumos_queue.actions.sql.schema import DESCRIBED, write_tables
from lumos_queue.errors import ActionError, InfrastructureError

_LOST = frozenset((1040, 1042, 1043, 1045, 1129, 1130, 1203, 2002, 2003, 2005, 2006, 2013, 2055))
_OVERTIME = frozenset((1969, 3024))


def answer(statement: Statement, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the server's reply to a request, in the form of the child's replies.

    Raises ActionError, and InfrastructureError if the server fails.
    """
    import pymysql

    from lumos_queue.actions.sql.login import open_connection  # children that read files need no network modules

    server, name, writes = request["server"], request["name"], request["writes"]
    connection = None
    try:
        connection = open_connection(server, name)
        with connection.cursor(pymysql.cursors.SSCursor) as cursor:
            _limit(cursor)
            if writes is None:
                cursor.execute("START TRANSACTION READ ONLY")
            else:
                cursor.execute("START TRANSACTION")
            earlier = [_count_changes(cursor, read_statement(text, name, True), name) for text in writes or ()]
            return {"kind": statement.kind, "earlier": earlier, **_reply(cursor, statement, name)}
    except pymysql.MySQLError as error:
        raise _failure(error, name) from None
    finally:
        if connection is not None:
            with suppress(pymysql.MySQLError, OSError):
                connection.rollback()
            with suppress(pymysql.MySQLError, OSError):
                connection.close()


def _limit(cursor: Any) -> None:
    """Set the time limit of statements, which is in milliseconds for MySQL (reads only) and in seconds for MariaDB."""
    cursor.execute("SELECT VERSION()")
    ((version,),) = cursor.fetchall()
    if "mariadb" in version.lower():
        cursor.execute(f"SET SESSION max_statement_time={SECONDS}")
    else:
        cursor.execute(f"SET SESSION max_execution_time={int(SECONDS * 1000)}")


def _reply(cursor: Any, statement: Statement, name: str) -> dict[str, Any]:
    if statement.kind == "tables":
        tables = _tables(cursor, name)
        rows = [[table] for table, _ in tables]
        return {"columns": [f"Tables_in_{name}"], "rows": rows, "shown": write_tables(tables)}
    if statement.kind == "write":
        return {"changed": _count_changes(cursor, statement, name)}
    if statement.kind == "columns":
        text = f"SHOW COLUMNS FROM {_quote(statement.table)}"
    else:
        text = f"EXPLAIN {statement.mysql}" if statement.kind == "plan" else statement.mysql
    result_rows = _fetch(cursor, text)
    columns = DESCRIBED if statement.kind == "columns" else result_rows.columns
    return {"columns": list(columns), "rows": result_rows.rows, "sql": statement.mysql}


def _tables(cursor: Any, name: str) -> list[tuple[str, list[TableColumn]]]:
    """Return the tables in the order of their names, with their columns."""
    cursor.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s "
        "ORDER BY table_name, ordinal_position",
        (name,),
    )
    tables: dict[str, list[TableColumn]] = {}
    for table, column, kind in cursor.fetchall():
        tables.setdefault(table, []).append(TableColumn(column, kind, False, None, 0))
    return list(tables.items())


def _count_changes(cursor: Any, statement: Statement, name: str) -> int:
    if statement.defines:
        raise ActionError("refused", "a server cannot take back what changes tables themselves")
    cursor.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND engine <> 'InnoDB'", (name,)
    )
    ((count,),) = cursor.fetchall()
    if count:
        raise ActionError("refused", "this database has tables without transactions: nothing can be written")
    return cursor.execute(statement.mysql)


def _fetch(cursor: Any, text: str) -> ResultRows:
    cursor.execute(text)
    rows, size = [], 0
    for row in cursor:
        rows.append([_plain(value) for value in row])
        size += len(json.dumps(rows[-1]))
        if len(rows) > MAX_ROWS or size > MAX_BYTES:
            raise ActionError(
                "too_large", f"the result has more than {MAX_ROWS} rows or {MAX_BYTES} characters: use LIMIT"
            )
    return ResultRows(tuple(name for name, *_ in cursor.description or ()), rows)


def _plain(value: Any) -> Any:
    """Return a value of a row as a JSON value: decimals become numbers, dates become texts."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (date, datetime, timedelta)):
        return str(value)
    return value


def _failure(error: Any, name: str) -> Exception:
    code, message = (*error.args, "", "")[:2]
    if code in _LOST:
        return InfrastructureError(f"the MySQL server cannot be used: {message or code}")
    if code == 1044 or code == 1049:
        return ActionError("no_database", f"there is no database '{name}'")
    if code in _OVERTIME:
        return ActionError("timeout", f"the statement needs more than {SECONDS:g} s")
    if code == 1792:
        return ActionError("refused", "the database is read only")
    return ActionError("sql_error", str(message or code))


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
