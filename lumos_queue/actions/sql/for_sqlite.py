"""Write a statement of MySQL for a SQLite copy, and refuse what SQLite cannot express.

MySQL ignores case when it compares texts. SQLite does so for columns of a copy (`database`), but for other expressions
(`lower(name) = 'CAP'`) only where the statement requests it: `_without_case` adds that request.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, UnsupportedError

from lumos_queue.actions.sql.catalogue import insert_catalogue
from lumos_queue.actions.sql.comparison import NUMBER_OF, with_numbers
from lumos_queue.actions.sql.database import Tables

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between)
_ALTERS = (exp.ColumnDef, exp.RenameColumn, exp.AlterRename, exp.Drop)


class _Dialect(SQLite):
    """sqlglot's SQLite dialect with names in backticks: SQLite reads an unknown name in double quotes as a text.

    LEFT and RIGHT are renamed, because SQLite has such keywords. New columns ignore case like all columns of a copy.
    """

    class Tokenizer(SQLite.Tokenizer):
        IDENTIFIERS: ClassVar = ["`"]

    class Generator(SQLite.Generator):
        TRANSFORMS: ClassVar = {
            **SQLite.Generator.TRANSFORMS,
            exp.Left: lambda self, node: self.func("LEFT_OF", node.this, node.expression),
            exp.Right: lambda self, node: self.func("RIGHT_OF", node.this, node.expression),
            exp.StrToDate: lambda self, node: self.func("STR_TO_DATE", node.this, self.mysql_format(node)),
            exp.StrToTime: lambda self, node: self.func("STR_TO_DATE", node.this, self.mysql_format(node)),
            exp.TimeToStr: lambda self, node: self.func("DATE_FORMAT", node.this, self.mysql_format(node)),
            exp.UnixToTime: lambda self, node: self.func(
                "FROM_UNIXTIME", node.this, self.mysql_format(node) if node.args.get("format") else None
            ),
        }

        def mysql_format(self, expression: exp.Expr) -> str | None:
            """Return a date format in MySQL's letters, because the parser has translated them."""
            return self.format_time(expression, MySQL.INVERSE_TIME_MAPPING, MySQL.INVERSE_TIME_TRIE)

        def columndef_sql(self, expression: exp.ColumnDef, sep: str = " ") -> str:
            return f"{super().columndef_sql(expression, sep)} COLLATE NOCASE"


def write_for_sqlite(tree: exp.Expr, database: str, tables: Tables) -> str:
    """Return the statement for a copy of `database` with these tables. Raises UnsupportedError."""
    if clause := _unsupported_clause(tree):
        raise UnsupportedError(clause)
    statement = with_numbers(insert_catalogue(_without_parentheses(tree), database, tables), tables)
    statement = _without_case(statement)
    if isinstance(statement, exp.Update):  # SQLite does not read `SET hat.price = 1`
        for assignment in statement.expressions:
            assignment.this.set("table", None)
    return statement.sql(_Dialect, comments=False, identify=True, unsupported_level=ErrorLevel.RAISE)


def _unsupported_clause(tree: exp.Expr) -> str:
    """Return a description of a write's clause that SQLite does not support; '' if there is no such clause."""
    if isinstance(tree, exp.Insert) and tree.args.get("conflict"):
        return "ON DUPLICATE KEY UPDATE"
    if isinstance(tree, (exp.Update, exp.Delete)):
        kind = tree.key.upper()
        if tree.this.args.get("joins") or tree.args.get("tables") or tree.args.get("using"):
            return f"{kind} of several tables"
        if tree.args.get("order") or tree.args.get("limit"):
            return f"{kind} with ORDER BY or LIMIT"
    if isinstance(tree, exp.Alter):
        actions = tree.args.get("actions") or []
        if len(actions) != 1:
            return "ALTER TABLE with several changes at once"
        is_other_drop = isinstance(actions[0], exp.Drop) and actions[0].args.get("kind") != "COLUMN"
        if is_other_drop or not isinstance(actions[0], _ALTERS):
            return "ALTER TABLE but to add, rename or drop a column or to rename the table"
    return ""


def _without_parentheses(tree: exp.Expr) -> exp.Expr:
    """Rewrite `(SELECT …) UNION (SELECT …)` so that SQLite can read it."""

    def bare(node: exp.Expr) -> exp.Expr:
        while isinstance(node, exp.Subquery) and (node.parent is None or isinstance(node.parent, exp.SetOperation)):
            if any(value for name, value in node.args.items() if name != "this"):
                return node
            inner = node.this
            if node.parent is not None and any(inner.args.get(name) for name in ("order", "limit", "offset", "with_")):
                return exp.select("*").from_(
                    exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("_")))
                )
            if node.parent is not None:
                return inner
            node = inner
        return node

    return tree.copy().transform(bare)


def _without_case(tree: exp.Expr) -> exp.Expr:
    """Change the tree so that it compares, sorts and groups without regard to case. Returns the tree."""
    for node in list(tree.walk()):
        if isinstance(node, _COMPARED):
            sides = [side for side in node.iter_expressions() if isinstance(side, exp.Expr)]
            is_assignment = isinstance(node.parent, exp.Update) and node.arg_key == "expressions"
            if not is_assignment and all(_may_be_text(side) for side in sides):
                _ignore_case(node.this)
        elif isinstance(node, exp.Order):
            for term in node.expressions:
                _ignore_case(term.this if isinstance(term, exp.Ordered) else term)
        elif isinstance(node, (exp.Group, exp.Distinct)):
            for term in list(node.expressions):
                _ignore_case(term)
        elif isinstance(node, exp.Window):
            for term in list(node.args.get("partition_by") or ()):
                _ignore_case(term)
        elif isinstance(node, exp.Case) and node.this is not None:
            _ignore_case(node.this)
    return tree


def _may_be_text(node: exp.Expr) -> bool:
    """Return whether a node may be one text without a collation; it is no number (`GROUP BY 1` names a column)."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Subquery):
        return isinstance(node.this, exp.Query) and len(node.this.selects) == 1 and not node.this.is_star
    exact = isinstance(node, exp.Cast) and node.is_type("binary")
    number = node.is_number or (isinstance(node, exp.Anonymous) and node.name == NUMBER_OF)
    return not (exact or number or isinstance(node, (exp.Tuple, exp.Collate, exp.Any, exp.All, exp.Star)))


def _ignore_case(node: exp.Expr) -> None:
    if _may_be_text(node):
        operand = node.copy()
        plain = isinstance(operand, (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Subquery))
        node.replace(
            exp.Collate(this=operand if plain else exp.paren(operand, copy=False), expression=exp.var("NOCASE"))
        )
