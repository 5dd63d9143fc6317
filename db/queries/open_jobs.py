"""Read the jobs that have not ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import select

from db.engine.connection import Connection
from db.kinds.states import OPEN, JobState
from db.models import JobRow
from db.queries.damage import sound_jobs

_ACTIVE = (*OPEN, JobState.CANCELLING)


class OpenJob(NamedTuple):
    """A job that is open or being cancelled."""

    id: str
    spec: dict[str, Any]
    state: str
    waiting: str  #: why it waits; '' if it does not
    not_before_at: float  #: when it may continue, in seconds since 1970


def find_open_jobs(connection: Connection, jobs: Collection[str]) -> set[str]:
    """Return the ids of those of these jobs that are open. Without jobs, nothing is read."""
    if not jobs:
        return set()
    return set(connection.execute(select(JobRow.id).where(JobRow.id.in_(jobs), JobRow.state.in_(OPEN))).scalars())


def list_open_ids(connection: Connection) -> list[str]:
    """Return the ids of jobs that are open or being cancelled, the oldest first."""
    query = select(JobRow.id).where(JobRow.state.in_(_ACTIVE)).order_by(JobRow.created_at)
    return list(connection.execute(query).scalars())


def list_open_jobs(connection: Connection, limit: int) -> tuple[list[OpenJob], bool]:
    """Return the first `limit` jobs that are open or being cancelled, the newest first, and whether there are more.

    Damaged jobs count, but are left out.
    """
    columns = (JobRow.id, JobRow.spec, JobRow.state, JobRow.waiting, JobRow.not_before_at)
    query = select(*columns).where(JobRow.state.in_(_ACTIVE)).order_by(JobRow.created_at.desc(), JobRow.id)
    rows = connection.execute(query.limit(limit + 1)).all()
    return sound_jobs(OpenJob(*row) for row in rows[:limit]), len(rows) > limit
