"""Fields of tasks: the values of a data file other than question and answer, in `gold["meta"]` of each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, FromClause, Text, case, cast, func, literal, select

from db.engine.conditions import Value
from db.engine.json_columns import is_object
from db.models import Item, JobRow, TaskRow
from lumos_queue.errors import SpecError, suggest
from lumos_queue.records import Task
from lumos_queue.util.display import one_line

MAX_LISTED, MAX_COMPARED = 40, 1000  #: fields that an error lists, and fields that a misspelt name is compared with
MAX_NAME = 40  #: characters of a field's name in a message
TASKS_AT_ONCE = 1000  #: tasks that a stream has in memory
MAX_EXACT = 2.0**53  #: floats up to here, and no larger ones, have every whole number
#: Kinds of values by which a field can be grouped and compared, as errors name them.
PLAIN_VALUES = "text, numbers, truth values and null"
_META = "meta"


def read_fields(gold: object) -> Mapping[str, Any]:
    """Return the fields of a task's gold value by name; empty if it has none."""
    fields = gold.get(_META) if is_object(gold) else None
    return fields if is_object(fields) else {}


def is_plain(value: object) -> bool:
    """Whether a field's value is text, a number, a truth value or null, as opposed to a list or mapping."""
    return value is None or isinstance(value, str | int | float)


def format_value(value: str | float | bool) -> str:
    """Return a field's value as text: 3 and 3.0 are both `3`, truth values are `true` and `false`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT:
        return str(int(value))
    return str(value)


def stream_tasks(connection: Connection, job: str) -> Iterator[tuple[int, Task]]:
    """Yield (key, task) for every task of a job, in order, each once. Only a few tasks are in memory at a time."""
    rows = connection.execute(
        select(TaskRow.__table__, JobRow.benchmark)
        .join(Item, Item.task == TaskRow.id)
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.job == job, Item.sample == 0)
        .order_by(Item.ordinal)
        .execution_options(yield_per=TASKS_AT_ONCE)
    )
    for row in rows:
        yield row.id, Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)


def list_fields(connection: Connection, datasets: Sequence[str]) -> list[str]:
    """Return the names of all fields that a task of these datasets has, in alphabetical order."""
    within = TaskRow.dataset.in_(datasets)
    if connection.dialect.name == "postgresql":
        meta = _meta_of_postgresql()
        keys = func.json_object_keys(case((func.json_typeof(meta) == "object", meta)))
        names = select(keys.label("name")).where(within).distinct()
    else:
        fields = json_entries()
        names = select(fields.c.key).distinct().select_from(TaskRow).join(fields, literal(1) == 1)
        names = names.where(within, func.json_type(sound_gold(), f"$.{_META}") == "object")
    return sorted(connection.execute(names).scalars())


def has_field(connection: Connection, datasets: Sequence[str], name: str) -> bool:
    """Whether a task of these datasets has a field of that name. Reading stops at the first such task."""
    within = TaskRow.dataset.in_(datasets)
    if connection.dialect.name == "postgresql":
        tasks = select(TaskRow.id).where(within, member(_meta_of_postgresql(), name).is_not(None))
    else:
        fields = json_entries()
        tasks = select(TaskRow.id).join(fields, literal(1) == 1).where(within, fields.c.key == name)
    return connection.execute(tasks.limit(1)).first() is not None


def unknown_field(name: str, fields: Sequence[str], whose: str) -> SpecError:
    """Return the error for a field that no task has: one line with the existing fields."""
    if not fields:
        return SpecError(
            f"{whose} have no fields of the data, so none is called '{shorten(name)}'. Fields are the further columns "
            "of a data file."
        )
    names = [shorten(field) for field in fields]
    ending = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    choices = ", ".join(names[:MAX_LISTED])
    suggestion = suggest(shorten(name), names[:MAX_COMPARED])
    return SpecError(f"No field of the data called '{shorten(name)}'. {suggestion}Choose one of: {choices}{ending}.")


def shorten(text: str, max_characters: int = MAX_NAME) -> str:
    """Return a name or a value of a data file in the form for messages: one line of at most `max_characters`."""
    text = text if len(text) <= max_characters else text[: max_characters - 1] + "…"
    return one_line(text)


def member(value: Value, name: str) -> Value:
    """Return the SQL of a member of a JSON object, on PostgreSQL; null if there is no such member, or no object."""
    return value.op("->")(cast(literal(name), Text))


def field_of_postgresql(name: str) -> Value:
    """Return the JSON value of a field of TaskRow, on PostgreSQL."""
    return member(_meta_of_postgresql(), name)


def _meta_of_postgresql() -> Value:
    return member(TaskRow.gold, _META)


def sound_gold() -> Value:
    """Return the gold value of TaskRow on SQLite; null if the column has no JSON."""
    return case((func.json_valid(TaskRow.gold) == 1, TaskRow.gold))


def json_entries() -> FromClause:
    """Return the fields of TaskRow on SQLite as a table with `key`, `type` and `value`.

    Keys are compared and never become a path: a path has its own meaning for quotes, dots and brackets.
    """
    return func.json_each(sound_gold(), f"$.{_META}").table_valued("key", "type", "value", joins_implicitly=True)
