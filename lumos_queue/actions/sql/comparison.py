"""Compare texts with numbers as MySQL does: a text that is compared with a number counts as the number at its start.

`'12abc' = 12`, `'abc' = 0` and `'9' < 10` are true (MySQL 8.0 Reference Manual, 14.3). SQLite compares such a pair as
texts, or sorts every text above every number. The kind of a side (text or number) follows from the declared types of
columns, which in MySQL are the types of the values. SQLite's comparison stays if the kind is uncertain, such as for
dates, and for USING, rows of values, CASE with a value, and an IN list of texts and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.scope import Scope, traverse_scope

from lumos_queue.actions.sql.database import Tables

NUMBER, TEXT = "number", "text"
NUMBER_OF = "NUMBER_OF"  #: the function in a copy that returns a text's number (numbers.py)

_PAIRS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_NUMBERS = (
    exp.Boolean,
    exp.Neg,
    exp.Predicate,
    exp.Not,
    exp.Connector,
    exp.Sub,
    exp.Add,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Length,
    exp.Abs,
    exp.Round,
    exp.Ceil,
    exp.Floor,
    exp.Sign,
    exp.Sqrt,
    exp.Pow,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.DateDiff,
    exp.StrPosition,
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
)
_TEXTS = (
    exp.Lower,
    exp.Upper,
    exp.Concat,
    exp.ConcatWs,
    exp.Substring,
    exp.Left,
    exp.Right,
    exp.Trim,
    exp.Replace,
    exp.GroupConcat,
    exp.SubstringIndex,
    exp.TimeToStr,
    exp.Hex,
)
_SAME_AS = (exp.Paren, exp.Alias, exp.Collate, exp.Min, exp.Max, exp.Window)  #: of the kind of their argument
_DECLARED = (
    (TEXT, re.compile("char|text|clob|enum|set")),
    (NUMBER, re.compile(r"\b(?:tiny|small|medium|big)?int(?!erval)|real|doub|floa|dec|num")),
)


def with_numbers(tree: exp.Expr, tables: Tables) -> exp.Expr:
    """Change each text that the statement compares with a number to the text's number. Return the statement."""
    kinds = Kinds(tree, tables)
    for node in list(tree.find_all(*_PAIRS, exp.Between, exp.In)):
        if isinstance(node.parent, exp.Update) and node.arg_key == "expressions":
            continue  # it assigns
        if isinstance(node, exp.In):
            _change_in(node, kinds)
            continue
        parts = ("this", "low", "high") if isinstance(node, exp.Between) else ("this", "expression")
        sides = [node.args[part] for part in parts if node.args.get(part)]
        side_kinds = [kinds.of(side) for side in sides]
        if {*side_kinds} == {NUMBER, TEXT}:
            _take_numbers(side for side, kind in zip(sides, side_kinds, strict=True) if kind == TEXT)
    return tree


def _change_in(node: exp.In, kinds: Kinds) -> None:
    query = node.args.get("query")
    inner = query.unnest() if isinstance(query, exp.Expr) else None
    members = inner.selects if isinstance(inner, exp.Select) else node.expressions
    left_kind, member_kinds = kinds.of(node.this), {kinds.of(member) for member in members}
    if left_kind == NUMBER and TEXT in member_kinds:
        _take_numbers(member.unalias() for member in members if kinds.of(member) == TEXT)
    elif left_kind == TEXT and member_kinds == {NUMBER}:
        _take_numbers([node.this])


def _take_numbers(nodes: Iterable[exp.Expr]) -> None:
    for node in list(nodes):
        number = node.replace(exp.Anonymous(this=NUMBER_OF))
        number.set("expressions", [node])  # the node itself: it may contain comparisons of a later step


class Kinds:
    """The kinds of the expressions of one statement: NUMBER, TEXT, or '' if the kind is uncertain."""

    def __init__(self, tree: exp.Expr, tables: Tables):
        self._columns: dict[int, str] = {}
        self._tables = {
            name.casefold(): {column.name.casefold(): kind_of_declaration(column.type) for column in columns}
            for name, columns in tables.items()
        }
        try:
            scopes = traverse_scope(tree)
        except OptimizeError:  # a statement with ambiguous names
            scopes = []
        for scope in scopes:  # inner scopes first; a column that they lack is also listed in the scope around them
            for column in scope.columns:
                if id(column) not in self._columns and (kind := self._find_kind(column, scope)) is not None:
                    self._columns[id(column)] = kind
        if isinstance(tree, (exp.Update, exp.Delete)) and isinstance(tree.this, exp.Table):
            column_kinds = self._tables.get(tree.this.name.casefold(), {})
            for column in tree.find_all(exp.Column):
                self._columns.setdefault(id(column), column_kinds.get(column.name.casefold(), ""))

    def of(self, node: Any) -> str:
        if isinstance(node, exp.Literal):
            return TEXT if node.is_string else NUMBER
        if isinstance(node, exp.Column):
            return self._columns[id(node)] if id(node) in self._columns else self._of_alias(node)
        if isinstance(node, exp.Subquery):
            return self.of(node.this)
        if isinstance(node, exp.Query):
            return self.of(node.selects[0]) if isinstance(node, exp.Select) and len(node.selects) == 1 else ""
        if isinstance(node, (exp.Any, exp.All)) or (isinstance(node, (exp.Add, exp.Sub)) and node.find(exp.Interval)):
            return ""  # several values; a date
        if isinstance(node, exp.Cast):
            return _cast_kind(node)
        if isinstance(node, _SAME_AS):
            return self.of(node.this)
        if isinstance(node, (exp.Coalesce, exp.If, exp.Case, exp.Nullif)):
            return self._common(node)
        return NUMBER if isinstance(node, _NUMBERS) else TEXT if isinstance(node, _TEXTS) else ""

    def _of_alias(self, column: exp.Column) -> str:
        """Return the kind of a name that the SELECT itself defines, as in `SELECT age + 1 AS a … HAVING a > 3`."""
        self._columns[id(column)] = ""  # during the search: aliases may refer to each other
        query = column.parent_select
        matches = (
            [expression for expression in query.selects if expression.alias_or_name == column.name] if query else []
        )
        self._columns[id(column)] = self.of(matches[0].unalias()) if len(matches) == 1 and not column.table else ""
        return self._columns[id(column)]

    def _common(self, node: exp.Expr) -> str:
        """Return the common kind of all values that the expression may have, except NULL; '' for different kinds."""
        if isinstance(node, exp.Nullif):
            return self.of(node.this)
        if isinstance(node, exp.Coalesce):
            branches = [node.this, *node.expressions]
        elif isinstance(node, exp.If):
            branches = [node.args.get("true"), node.args.get("false")]
        else:
            branches = [*(case.args.get("true") for case in node.args["ifs"]), node.args.get("default")]
        kinds = {self.of(branch) for branch in branches if branch is not None and not isinstance(branch, exp.Null)}
        return kinds.pop() if len(kinds) == 1 else ""

    def _find_kind(self, column: exp.Column, scope: Scope) -> str | None:
        """Return the kind of a column of the scope's sources: None if no source has it, '' if their kinds differ."""
        kinds = {
            kind
            for name, source in scope.sources.items()
            if not column.table or name.casefold() == column.table.casefold()
            if (kind := self._kind_in(source, column.name.casefold())) is not None
        }
        return (kinds.pop() if len(kinds) == 1 else "") if kinds else None

    def _kind_in(self, source: Any, name: str) -> str | None:
        """Return the kind of the column `name` of a source; None if the source has no such column."""
        if isinstance(source, exp.Table):
            return self._tables.get(source.name.casefold(), {}).get(name)
        query = source.expression
        if not isinstance(query, exp.Select):
            return ""  # a UNION: its parts may differ in kind
        if query.is_star:
            kinds = {self._kind_in(inner_source, name) for inner_source in source.sources.values()} - {None}
            return (kinds.pop() if len(kinds) == 1 else "") if kinds else None
        expressions: Mapping[str, exp.Expr] = {
            expression.alias_or_name.casefold(): expression for expression in query.selects
        }
        return self.of(expressions[name]) if name in expressions else None


def kind_of_declaration(declaration: str) -> str:
    """Return the kind of a declared type: NUMBER, TEXT, or '' for dates, bits and a missing type."""
    return next((kind for kind, pattern in _DECLARED if pattern.search(declaration.lower())), "")


def _cast_kind(node: exp.Cast) -> str:
    if node.is_type(*exp.DataType.NUMERIC_TYPES):
        return NUMBER
    return TEXT if node.is_type(*exp.DataType.TEXT_TYPES) else ""
