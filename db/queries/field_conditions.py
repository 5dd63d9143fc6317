"""Conditions on a field of an episode's task (`meta.NAME` of a filter), with equal results on SQLite and PostgreSQL.

Name and value are bound parameters. Values are compared by their type in JSON: texts with texts, numbers with numbers.
"""

from __future__ import annotations

from sqlalchemy import (
    Connection,
    Float,
    FromClause,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    not_,
    null,
    or_,
    select,
)

from db.engine.conditions import Condition, Value, contains
from db.models import EpisodeRow, TaskRow
from db.queries.filters import Term, read_number
from db.queries.job_filters import COMPARE
from db.queries.task_fields import field_of_postgresql, json_entries

LARGEST = 1e300  #: numbers from here on match nothing, because some of them are no floats
DIGITS = 300  #: of a whole number below LARGEST
TEXT_LENGTH = 30  #: characters of a text that is read as a number
#: Texts, for example from CSV, that <, <=, > and >= compare as numbers: JSON's numbers without an exponent.
NUMBER = r"^-?(0|[1-9][0-9]*)([.][0-9]+)?$"


def field_condition(connection: Connection, term: Term) -> Condition:
    """Return the condition on EpisodeRow. `!=` holds where the field has another value or is missing."""
    if connection.dialect.name == "postgresql":
        fits = _compare(connection, term, *_columns_of_postgresql(term))
        condition = exists().where(TaskRow.id == EpisodeRow.task, fits)
    else:
        fields = json_entries()
        fits = _compare(connection, term, *_columns_of_sqlite(fields, term))
        tasks = select(TaskRow.id).join(fields, literal(1) == 1)
        condition = tasks.where(TaskRow.id == EpisodeRow.task, fields.c.key == term.key, fits).exists()
    return not_(condition) if term.operator == "!=" else condition


def _compare(connection: Connection, term: Term, text: Value, number: Value) -> Condition:
    """Return the comparison of a value with the term.

    `text`: the value if it is a text or a truth value, otherwise null. `number`: the value if it is a number.
    """
    if term.operator == "~":
        return contains(connection, text, str(term.value))
    amount = read_number(term.value)
    compare = COMPARE["=" if term.operator == "!=" else term.operator]
    as_number: Condition = false()
    if amount is not None and abs(amount) < LARGEST:
        as_number = and_(func.abs(number) < literal(LARGEST, Float), compare(number, literal(amount, Float)))
    if term.operator in ("=", "!="):
        return or_(and_(text.is_not(None), text == literal(str(term.value), Text)), as_number)
    return as_number


def _columns_of_postgresql(term: Term) -> tuple[Value, Value]:
    """Return the field's value as text and as a number. A `case` keeps other values from each cast."""
    value = field_of_postgresql(term.key)
    kind = func.json_typeof(value)
    content = func.json_extract_path_text(TaskRow.gold, "meta", literal(term.key, Text))
    text = case((kind.in_(("string", "boolean")), content))
    castable = and_(kind == "number", func.length(func.ltrim(content, "-")) <= DIGITS)
    cases: list[tuple[Condition, Value]] = [(castable, cast(content, Float))]
    if _orders(term):
        is_text = and_(kind == "string", func.length(content) <= TEXT_LENGTH, content.op("~")(literal(NUMBER, Text)))
        cases.append((is_text, cast(content, Float)))
    return text, case(*cases)


def _columns_of_sqlite(fields: FromClause, term: Term) -> tuple[Value, Value]:
    kind, value = fields.c.type, fields.c.value
    text = case((kind == "text", value), (kind == "true", "true"), (kind == "false", "false"), else_=null())
    # A whole number is compared as a float, as PostgreSQL does.
    cases: list[tuple[Condition, Value]] = [(kind.in_(("integer", "real")), cast(value, Float))]
    if _orders(term):
        plain = and_(kind == "text", func.length(value) <= TEXT_LENGTH, value.op("NOT GLOB")("*[^-0-9.]*"))
        json_number = case((func.json_valid(value) == 1, func.json_type(value)))
        cases.append((and_(plain, json_number.in_(("integer", "real"))), cast(value, Float)))
    return text, case(*cases)


def _orders(term: Term) -> bool:
    return term.operator not in ("=", "!=", "~")
