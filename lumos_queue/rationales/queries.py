"""Splits a SELECT into the parts that become subgoals: the selection, the conditions, the whole query.

The parts are texts of the query, unchanged except for white space, which becomes single spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from lumos_queue.rationales.enumeration import enumerate_words
from lumos_queue.rationales.reasons import NotConvertible

DIALECT = "mysql"  #: in it `"…"` is a text, as in InterCode; SQLite reads it as one where no column has that name
MAX_CHARACTERS = 4000  #: of a query
_COMBINING = {
    TokenType.INTERSECT: "the intersection with another selection",
    TokenType.UNION: "the union with another selection",
    TokenType.EXCEPT: "the removal of another selection",
}
_CONDITIONS = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, *_COMBINING)
_QUOTE_OR_SPACE = re.compile(r"['\"]|\s+")
_STRINGS = {
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*'"),
    '"': re.compile(r'"(?:[^"\\]|\\.|"")*"'),
}
#: The text after a quote that no later quote closes: to the end, or up to a backslash before a line break.
_UNCLOSED = {"'": re.compile(r"'(?:[^'\\]|\\.)*"), '"': re.compile(r'"(?:[^"\\]|\\.)*')}
_AGGREGATES = {exp.Avg: "average", exp.Sum: "sum", exp.Min: "smallest", exp.Max: "largest"}


@dataclass(frozen=True, slots=True)
class Query:
    """The parts of one query, as text; `conditions` is '' if there are none."""

    whole: str
    selection: str  #: `name, age FROM singer`
    conditions: str  #: `WHERE age > 30 ORDER BY name`
    objects: str  #: the selected objects, as text
    tables: tuple[str, ...]  #: of the selection, in order
    kinds: tuple[str, ...]  #: of the conditions, as text: `the order by age`


def read_query(text: str) -> Query:
    """Return the parts of a query. Raises NotConvertible unless it is a SELECT or a combination of SELECTs."""
    whole = _reduce_space(text.strip().rstrip(";").strip())
    if len(whole) > MAX_CHARACTERS:
        raise NotConvertible("too_large")
    try:
        tree = sqlglot.parse_one(whole, dialect=DIALECT)
        tokens = sqlglot.tokenize(whole, dialect=DIALECT)
    except (SqlglotError, RecursionError) as error:
        raise NotConvertible("unreadable_sql") from error
    if not isinstance(tree, exp.Query) or tokens[0].token_type != TokenType.SELECT:
        raise NotConvertible("unreadable_sql")
    end, combinations = _conditions(whole, tokens)
    first = tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    if not first.expressions:
        raise NotConvertible("unreadable_sql")
    kinds = [*_kinds(first), *combinations] if combinations else _kinds(tree)
    sources = [first.args.get("from_") or first.args.get("from"), *(first.args.get("joins") or [])]
    tables = [table.name for source in sources if source for table in source.find_all(exp.Table)]
    return Query(
        whole=whole,
        selection=whole[tokens[0].end + 1 : end].strip(),
        conditions=whole[end:].strip(),
        objects=enumerate_words([_words(expression) for expression in first.expressions]),
        tables=tuple(dict.fromkeys(tables)),
        kinds=tuple(kinds),
    )


def _reduce_space(text: str) -> str:
    """Return the text with single spaces outside of its strings."""
    parts, position, unclosed_ends = [], 0, dict.fromkeys(_STRINGS, 0)
    while match := _QUOTE_OR_SPACE.search(text, position):
        parts.append(text[position : match.start()])
        position, quote = match.end(), match[0]
        if quote not in _STRINGS:
            parts.append(" ")
        elif match.start() >= unclosed_ends[quote] and (string := _STRINGS[quote].match(text, match.start())):
            parts.append(string[0])
            position = string.end()
        else:
            parts.append(quote)
            if match.start() >= unclosed_ends[quote]:
                unclosed_ends[quote] = _UNCLOSED[quote].match(text, match.start()).end()  # type: ignore[union-attr]
    return "".join(parts) + text[position:]


def is_ordered(text: str) -> bool:
    """Return whether a query orders its rows. Raises NotConvertible for an unreadable query."""
    if len(text) > MAX_CHARACTERS:
        raise NotConvertible("too_large")
    try:
        return bool(sqlglot.parse_one(text, dialect=DIALECT).args.get("order"))
    except (SqlglotError, RecursionError) as error:
        raise NotConvertible("unreadable_sql") from error


def _conditions(whole: str, tokens: Sequence[Token]) -> tuple[int, list[str]]:
    """Return the position at which the outermost query's conditions begin, and its combination with another query."""
    depth, end = 0, len(whole)
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.token_type in _CONDITIONS:
            end = min(end, token.start)
            if token.token_type in _COMBINING:
                return end, [_COMBINING[token.token_type]]
    return end, []


def _kinds(select: exp.Expr) -> list[str]:
    """Return descriptions of a SELECT's conditions, without values: `the order by age`."""
    kinds, parts = [], select.args
    if parts.get("where"):
        kinds.append(f"the condition on {_columns(parts['where']) or 'rows'}")
    if parts.get("group"):
        kinds.append(
            f"the grouping by {enumerate_words([_words(expression) for expression in parts['group'].expressions])}"
        )
    if parts.get("having"):
        kinds.append(f"the condition on groups by {_columns(parts['having']) or 'their size'}")
    if parts.get("order"):
        kinds.append(
            f"the order by {enumerate_words([_words(expression.this) for expression in parts['order'].expressions])}"
        )
    if parts.get("limit"):
        kinds.append("the limit")
    return kinds


def _words(expression: exp.Expr) -> str:
    """Return a selected expression as text: `the number of rows`, `the largest age`, or the names of its columns."""
    if isinstance(expression, exp.Star):
        return "everything"
    if isinstance(expression, exp.Count):
        operand = expression.this
        distinct = "different " if isinstance(operand, exp.Distinct) else ""
        names = _columns(expression)
        return f"the number of {distinct}{names}" if names else "the number of rows"
    for kind, word in _AGGREGATES.items():
        if isinstance(expression, kind):
            return f"the {word} {'of ' if word == 'sum' else ''}{_columns(expression) or 'value'}"
    return _columns(expression) or "a value"


def _columns(expression: exp.Expr) -> str:
    names = list(dict.fromkeys(column.name for column in expression.find_all(exp.Column)))
    return enumerate_words(names) if names else ""
