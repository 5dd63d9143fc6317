"""Conditions on columns of texts and ids, for any table. Every value is a bound parameter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, SQLColumnExpression, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from db.engine.connection import numbers

Condition: TypeAlias = ColumnElement[bool]
Value: TypeAlias = SQLColumnExpression[Any]  #: a column or an expression, of any type
Query: TypeAlias = Select[*tuple[Any, ...]]  #: a SELECT of any columns


class strings(FunctionElement[str]):
    """A list of texts sent as one JSON text, as db.engine.connection.numbers sends numbers."""

    inherit_cache = True


@compiles(strings, "postgresql")
def _strings_postgresql(element: strings, compiler: SQLCompiler, **options: object) -> str:
    parameter = compiler.process(element.clauses, **options)
    return f"(SELECT value FROM json_array_elements_text(CAST({parameter} AS json)))"


@compiles(strings, "sqlite")
def _strings_sqlite(element: strings, compiler: SQLCompiler, **options: object) -> str:
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"


def is_one_of(column: SQLColumnExpression[str | None], texts: list[str]) -> Condition:
    """Return the condition that the column is one of the texts. Their number is not limited."""
    return column.op("IN", is_comparison=True)(strings(literal(json.dumps(texts))))


def is_among(column: SQLColumnExpression[int | None], ids: Sequence[int]) -> Condition:
    """Return the condition that the column is one of the ids. Their number is not limited."""
    return column.op("IN", is_comparison=True)(numbers(literal(json.dumps(list(ids)))))


def contains(connection: Connection, column: SQLColumnExpression[str | None], text: str) -> Condition:
    """Return the condition that the column contains `text`, case-sensitively. No character of `text` is a wildcard."""
    if connection.dialect.name == "postgresql":  # whose planner can estimate LIKE, and not strpos
        return column.contains(text, autoescape=True)
    return func.instr(column, text) > 0
