"""Read statements in MySQL's dialect with sqlglot, check them, and write them for MySQL and SQLite (spec/lumos.md 5.6).

A database runs the statement that the parser understood, written again without comments. So a text that MySQL and the
parser read differently (`/*! … */`, odd quotes) never reaches a database unchanged. The database checks a second time.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from lumos_queue.actions.sql import catalogue, for_sqlite
from lumos_queue.actions.sql.database import Tables
from lumos_queue.actions.sql.functions import OFFERED
from lumos_queue.errors import ActionError

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # nobody reads a child's log; its errors contain the same text

MAX_SHOWN = 200  #: characters of a parser's message in an error
_RUN_COMMENT = re.compile("M?!")  #: the start of a comment that MySQL (`!`) or MariaDB (`M!`) runs
_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Drop, exp.Alter)
_DEFINES = (exp.Create, exp.Drop, exp.Alter)
_FORBIDDEN = {
    exp.Into: "INTO",
    exp.Lock: "locks",
    exp.Parameter: "variables",
    exp.SessionParameter: "variables",
    exp.Placeholder: "parameters",
    exp.Command: "this statement",
    exp.Pragma: "PRAGMA",
    exp.Attach: "ATTACH",
    exp.PropertyEQ: "assignments",
    exp.Rand: "random numbers",
    exp.Randn: "random numbers",
    exp.Uuid: "random values",
    exp.CurrentUser: "CURRENT_USER",
    exp.SessionUser: "SESSION_USER",
    exp.CurrentCatalog: "the catalogue",
}
#: Clocks: an answer may depend on the day, but a rebuilt database must be the same again. SQLite's authorizer finds
#: those that have the time by an argument, such as date('now').
_CLOCKS = (
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.CurrentDatetime,
    exp.Localtime,
    exp.Localtimestamp,
    exp.UtcDate,
    exp.UtcTime,
    exp.UtcTimestamp,
)


class _MySQL(MySQL):
    """sqlglot's MySQL dialect, changed to write REPLACE instead of INSERT OR REPLACE."""

    class Generator(MySQL.Generator):
        def insert_sql(self, expression: exp.Insert) -> str:
            text = super().insert_sql(expression)
            return text.replace("INSERT OR REPLACE", "REPLACE", 1) if expression.args.get("alternative") else text


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement that may be run. `kind`: query, plan, write, tables (SHOW TABLES) or columns (DESCRIBE)."""

    kind: str
    database: str = ""
    tree: exp.Expr | None = None  #: of the statement to run
    mysql: str = ""
    table: str = ""  #: of a statement of kind columns
    defines: bool = False  #: whether it changes the definition of tables: MySQL cannot roll that back

    def sqlite(self, tables: Tables) -> str:
        """Return the statement for a SQLite copy with these tables. Raises ActionError if SQLite cannot express it."""
        assert self.tree is not None
        try:
            return for_sqlite.write_for_sqlite(self.tree, self.database, tables)
        except SqlglotError as error:
            raise ActionError("unsupported_sql", f"a copy of this database cannot do that: {_short(error)}") from None


def read_statement(text: str, database: str, writes: bool = False) -> Statement:
    """Read the only statement in `text`. Raises ActionError of kind syntax, several, refused or unsupported_sql."""
    tree = _read(text)
    if isinstance(tree, exp.Show):
        return _show(tree, database)
    if isinstance(tree, exp.Describe):
        if isinstance(tree.this, exp.Table):
            _check_database(tree.this.db, database)
            return Statement("columns", table=tree.this.name)
        return _write("plan", tree.this, database)
    if isinstance(tree, exp.Query) or (isinstance(tree, exp.Values) and tree.expressions):
        return _write("query", tree, database)
    if isinstance(tree, _WRITES):
        if not writes:
            kind = str(tree.args.get("alternative") or tree.key).upper()
            raise ActionError("refused", f"{kind} would change the database, which is read only")
        defaults = tree.find_all(exp.DefaultColumnConstraint)
        if any(tree.find_all(*_CLOCKS)) or any(default.find(exp.Func) for default in defaults):
            raise ActionError("refused", "what is written may not depend on the time, nor a default on a function")
        return _write("write", tree, database)
    choices = sorted(READABLE) + (sorted(WRITABLE) if writes else [])
    raise ActionError("refused", f"only {', '.join(choices)} are offered")


READABLE = ("SELECT", "SHOW TABLES", "SHOW COLUMNS", "DESCRIBE", "EXPLAIN", "VALUES", "WITH")
WRITABLE = ("INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE", "CREATE", "ALTER", "DROP")


def _read(text: str) -> exp.Expr:
    if "\0" in text:
        raise ActionError("syntax", "a NUL character")
    try:
        statements = [tree for tree in sqlglot.parse(text, read="mysql") if tree is not None and not _is_remark(tree)]
        if len(statements) != 1:
            count = len(statements)
            raise ActionError("several" if statements else "syntax", f"one statement at a time; these are {count}")
        return _in_other_words(statements[0])
    except SqlglotError as error:
        raise ActionError("syntax", f"You have an error in your SQL syntax: {_short(error)}") from None


def _is_remark(tree: exp.Expr) -> bool:
    """Return whether the tree is only comments after a semicolon, without `/*! … */`, whose content MySQL runs."""
    return isinstance(tree, exp.Semicolon) and not any(_RUN_COMMENT.match(text) for text in tree.comments or ())


def _in_other_words(tree: exp.Expr) -> exp.Expr:
    """Rewrite REPLACE INTO, which the parser cannot read, and TRUNCATE, which MySQL cannot roll back."""
    if isinstance(tree, exp.Command) and tree.name.upper() == "REPLACE":
        rest = re.sub(r"^\s*INTO\b", "", tree.text("expression"), flags=re.IGNORECASE)
        return sqlglot.parse_one(f"INSERT OR REPLACE INTO {rest}", read="mysql")
    if isinstance(tree, exp.TruncateTable) and len(tree.expressions) == 1 and not tree.args.get("partition"):
        return exp.Delete(this=tree.expressions[0])
    return tree


def _show(tree: exp.Show, database: str) -> Statement:
    kind, target = str(tree.this).upper(), tree.args.get("target")
    schema = tree.args.get("db")
    _check_database(schema.name if schema else "", database)
    if tree.args.get("like") or tree.args.get("where"):
        raise ActionError("unsupported_sql", "SHOW with LIKE or WHERE is not offered")
    if kind == "TABLES":
        return Statement("tables")
    if kind == "COLUMNS" and target is not None:
        return Statement("columns", table=target.name)
    raise ActionError("refused", f"SHOW {kind} is not offered; SHOW TABLES and SHOW COLUMNS FROM a table are")


def _write(kind: str, tree: exp.Expr, database: str) -> Statement:
    """Return the statement of a tree, after a check for forbidden parts."""
    try:
        _check(tree, database)
        mysql = catalogue.keep_to_database(tree, database).sql(_MySQL, comments=False, identify=True)
    except SqlglotError as error:
        raise ActionError("unsupported_sql", f"not supported: {_short(error)}") from None
    return Statement(kind, database, tree, mysql, defines=isinstance(tree, _DEFINES))


def _check(tree: exp.Expr, database: str) -> None:
    """Raise ActionError for forbidden parts. Remove hints and the name of the database from the tree."""
    for node in list(tree.walk()):
        for kind, name in _FORBIDDEN.items():
            if isinstance(node, kind):
                raise ActionError("refused", f"{name} cannot be used")
        if isinstance(node, exp.With) and node.args.get("recursive"):
            raise ActionError("refused", "WITH RECURSIVE cannot be used")
        if isinstance(node, exp.Anonymous) and node.name.lower() not in OFFERED:
            raise ActionError("refused", f"there is no function {node.name.upper()[:40]}")
        if isinstance(node, exp.Hint):
            node.pop()
        elif isinstance(node, exp.CurrentSchema):
            node.replace(exp.Literal.string(database))
        elif isinstance(node, exp.Table):
            _check_table(node, database)
        elif isinstance(node, exp.Column) and node.args.get("db"):
            if node.text("db").casefold() != catalogue.NAME:
                _check_database(node.text("db"), database)
            node.set("db", None)


def _check_table(table: exp.Table, database: str) -> None:
    if not isinstance(table.this, exp.Identifier):
        raise ActionError("refused", "a function cannot stand in place of a table")
    if catalogue.is_catalogue(table):
        if table.name.casefold() not in catalogue.OFFERED:
            table_names = " and ".join(name.upper() for name in catalogue.OFFERED)
            raise ActionError("refused", f"of INFORMATION_SCHEMA only {table_names} can be read")
        return
    _check_database(table.text("catalog") or table.db, database)
    table.set("db", None)
    name = table.name.lower()
    if name.startswith(("sqlite_", "pragma_")):
        raise ActionError("sql_error", f"Table '{database}.{table.name[:60]}' doesn't exist")


def _check_database(name: str, database: str) -> None:
    if name and name.casefold() != database.casefold():
        raise ActionError("refused", f"only the database '{database}' can be read, not '{name[:60]}'")


def _short(error: Exception) -> str:
    """Return the parser's message on one line, without its terminal codes for underlining."""
    text = str(error).replace("\033[4m", "").replace("\033[0m", "")
    return " ".join(text.split())[:MAX_SHOWN]
