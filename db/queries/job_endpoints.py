"""Read the identities that the endpoints of jobs reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from db.engine.json_columns import is_object
from db.models import JobEndpoint, JobRow


def endpoints_of_kind(connection: Connection, kind: str) -> list[Any]:
    """Return the identities that endpoints of all jobs of a kind reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).join(JobRow, JobRow.id == JobEndpoint.job).where(JobRow.kind == kind)
    return _readable(connection.execute(query.order_by(JobEndpoint.id)))


def endpoints_of(connection: Connection, job: str) -> list[Any]:
    """Return the identities that the job's endpoints reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).where(JobEndpoint.job == job).order_by(JobEndpoint.id)
    return _readable(connection.execute(query))


def load_served_models(connection: Connection, jobs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the last model that each server reported to each of these jobs, by job id and by address.

    The model is '' where the server reported none. One query reads all jobs.
    """
    query = select(JobEndpoint.job, JobEndpoint.url, JobEndpoint.identity).where(JobEndpoint.job.in_(jobs))
    served_models: dict[str, dict[str, str]] = {}
    for job, url, identity in connection.execute(query.order_by(JobEndpoint.id)):
        facts = identity if is_object(identity) else {}
        model_name = facts.get("model_id") or facts.get("model") or ""
        # Replicas with different models report a list.
        served_models.setdefault(job, {})[url] = model_name if isinstance(model_name, str) else ""
    return served_models


def _readable(endpoints: Iterable[Any]) -> list[Any]:
    return [row for row in endpoints if isinstance(row.identity, dict)]
