"""The choice of a field by which a page splits scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.task_fields import shorten
from db.queue.stored_jobs import StoredJob
from lumos_queue.reports.field_groups import list_known_fields
from lumos_queue.util.sanitize import storable

MAX_OFFERED = 200  #: fields in a page's list


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """The fields that a page offers, and the chosen field."""

    offered: Mapping[str, str] = field(default_factory=dict)  #: name of a field to its text in the list
    more: int = 0  #: fields that are not in the list
    chosen: Sequence[str] = ()  #: one field, or none


def choose_fields(connection: Connection, jobs: Sequence[StoredJob], by: str) -> FieldChoice:
    """Return the fields of the first of the jobs (their rows), with the chosen one; '' chooses none."""
    has_fields = jobs and jobs[0].kind != JobKind.TRAIN and jobs[0].main_metric
    names = list_known_fields(connection, jobs[0]) if has_fields else []
    by = storable(by)[0]
    choices = names[:MAX_OFFERED]
    if by in names and by not in choices:
        choices.append(by)
    return FieldChoice({name: shorten(name) for name in choices}, len(names) - len(choices), [by] if by else [])
