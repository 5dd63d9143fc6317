"""Group the tasks of a job by a field: a column of its data, or a group of its benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS
from db.queries.task_fields import (
    PLAIN_VALUES,
    format_value,
    is_plain,
    list_fields,
    read_fields,
    shorten,
    stream_tasks,
    unknown_field,
)
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.registry import benchmark_of
from lumos_queue.errors import SpecError
from lumos_queue.records import Task

MOST_FREQUENT = 20  #: number of values that have their own group; further values share a group
MAX_VALUE = 200  #: characters of a value in reports
SHOWN_VALUE = 40  #: characters of a value in tables
NONE = "(none)"
COLUMN = "meta."  #: prefix of a column's name, as in filters and frames
_CLUSTERED_BY = ("from", "sets", "given")  #: inputs of a task that determine which items are not independent


class GroupKind(StrEnum):
    """What the tasks of a group have in common. The texts are part of reports as JSON."""

    VALUE = "value"  #: the same value
    NONE = "none"  #: the field is null or missing
    OTHER = "other"  #: a value that is not one of the most frequent


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """A group of tasks; `tasks` maps keys to tasks, which have only the inputs that the figures need."""

    kind: GroupKind
    value: str = ""  #: the value of GroupKind.VALUE
    values: int = 1  #: number of different values
    tasks: dict[int, Task] = field(default_factory=dict)

    @property
    def single_value(self) -> str | None:
        """The value of GroupKind.VALUE; None for other kinds."""
        return self.value if self.kind == GroupKind.VALUE else None

    @property
    def value_count(self) -> int | None:
        """The number of values of GroupKind.OTHER; None for other kinds."""
        return self.values if self.kind == GroupKind.OTHER else None


Groups = Mapping[str, Sequence[FieldGroup]]  #: groups by name of the field, the most frequent first, `other` last
_Value = tuple[str, str]  #: a value's text in reports, and the digest of a value that is longer
_Read = Callable[[Task], _Value | None]  #: returns a task's value of a field; None if it has none


def list_known_fields(connection: Connection, job: StoredJob) -> list[str]:
    """Return the names of all fields by which a job can be grouped."""
    own_groups = _own_groups(job)
    columns = list_fields(connection, [job.dataset]) if job.dataset else []
    return [
        *own_groups,
        *(COLUMN + name if name in own_groups or name.startswith(COLUMN) else name for name in columns),
    ]


def split_tasks(connection: Connection, job: StoredJob, fields: Sequence[str]) -> Groups:
    """Return the groups of a job's tasks by each of the fields.

    The tasks are read as a stream. Raises SpecError for an unknown field, with a list of the job's fields, and for a
    column that has lists or mappings.
    """
    own_groups = _own_groups(job)
    fields = list(dict.fromkeys(fields))
    columns = {name: name.removeprefix(COLUMN) for name in fields if name not in own_groups}
    readers: dict[str, _Read] = {
        name: _read_own(own_groups[name]) if name in own_groups else _read_column(job, name, columns[name])
        for name in fields
    }
    present_columns: set[str] = set()
    tasks: dict[int, Task] = {}
    values: dict[str, dict[int, _Value | None]] = {name: {} for name in fields}
    for key, task in stream_tasks(connection, job.id):
        present_columns.update(column for column in columns.values() if column in read_fields(task.gold))
        for name, read in readers.items():
            values[name][key] = read(task)
        tasks[key] = _strip(task)
    for name, column in columns.items():
        if column not in present_columns:
            raise unknown_field(name, list_known_fields(connection, job), f"Tasks of job {job.id}")
    return {name: _group(read_values, tasks) for name, read_values in values.items()}


def name_group(kind: str, value: str | None, values: int | None, limit: int = SHOWN_VALUE) -> str:
    """Return the name of a group of tasks in tables: its value on one line.

    `value` is that of GroupKind.VALUE, and `values` the number of values of GroupKind.OTHER. A value is in
    quotes if it is empty, begins with a quote, or looks like the name of another kind of group.
    """
    if kind == GroupKind.NONE:
        return NONE
    if values is not None:
        return f"other ({values:,} value{'s' if values > 1 else ''})"
    text = shorten(value or "", limit)
    return f'"{text}"' if not text.strip() or text == NONE or text.startswith(("other (", '"')) else text


def _own_groups(job: StoredJob) -> Mapping[str, Callable[[Task], str]]:
    """Return the groups of the job's benchmark."""
    return benchmark_of(job).groups if job.kind in RUNS else {}


def _read_own(group_of: Callable[[Task], str]) -> _Read:
    return lambda task: _identify(str(group_of(task)))


def _read_column(job: StoredJob, name: str, column: str) -> _Read:
    def read(task: Task) -> _Value | None:
        value = read_fields(task.gold).get(column)
        if not is_plain(value):
            raise SpecError(
                f"Tasks of job {job.id} cannot be grouped by the field '{shorten(name)}': in row '{shorten(task.row)}' "
                f"its value is a {'list' if isinstance(value, list) else 'mapping'}. Expected {PLAIN_VALUES}."
            )
        return None if value is None else _identify(format_value(value))

    return read


def _identify(text: str) -> _Value:
    """Return a text and ''; of a long text, its beginning and its digest, because each task may have a long text."""
    if len(text) <= MAX_VALUE:
        return text, ""
    return text[: MAX_VALUE - 1] + "…", sha256(text.encode(errors="replace")).hexdigest()


def _strip(task: Task) -> Task:
    """Return the task with only those inputs that determine which items are independent."""
    inputs = {name: task.inputs[name] for name in _CLUSTERED_BY if name in task.inputs}
    return Task(task.benchmark, task.dataset, task.row, "", inputs)


def _group(values: Mapping[int, _Value | None], tasks: Mapping[int, Task]) -> list[FieldGroup]:
    counts = Counter(value for value in values.values() if value is not None)
    ranking = sorted(counts, key=lambda value: (-counts[value], value))
    groups = {value: FieldGroup(GroupKind.VALUE, value[0]) for value in ranking[:MOST_FREQUENT]}
    none_group = FieldGroup(GroupKind.NONE)
    other_group = FieldGroup(GroupKind.OTHER, values=len(ranking) - len(groups))
    for key, value in values.items():
        group = none_group if value is None else groups.get(value, other_group)
        group.tasks[key] = tasks[key]
    ordered_groups = [*groups.values(), *([none_group] if none_group.tasks else [])]
    ordered_groups.sort(key=lambda group: -len(group.tasks))
    return [*ordered_groups, other_group] if other_group.tasks else ordered_groups
