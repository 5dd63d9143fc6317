"""Read the identities that the endpoints of jobs reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from db.models import JobEndpoint, JobRow


def endpoints_of_kind(connection: Connection, kind: str) -> list[Any]:
    """Return the identities that endpoints of all jobs of a kind reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).join(JobRow, JobRow.id == JobEndpoint.job).where(JobRow.kind == kind)
    return _readable(connection.execute(query.order_by(JobEndpoint.id)))


def endpoints_of(connection: Connection, job: str) -> list[Any]:
    """Return the identities that the job's endpoints reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).where(JobEndpoint.job == job).order_by(JobEndpoint.id)
    return _readable(connection.execute(query))


def _readable(endpoints: Iterable[Any]) -> list[Any]:
    return [row for row in endpoints if isinstance(row.identity, dict)]
