"""Read the identities that the endpoints of jobs reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, select

from db.engine.json_columns import is_object
from db.models import JobEndpoint, JobRow
from lumos_queue.records import JsonObject
from lumos_queue.util.runtime_types import has_type


@dataclass(frozen=True, slots=True)
class ReportedIdentity:
    """The identity that an endpoint of a job has reported."""

    job: str
    role: str
    url: str
    identity: JsonObject
    seen_at: float


def endpoints_of_kind(connection: Connection, kind: str) -> list[ReportedIdentity]:
    """Return the identities that endpoints of all jobs of a kind reported, oldest first. Damaged rows are left out."""
    query = select(*_COLUMNS).join(JobRow, JobRow.id == JobEndpoint.job).where(JobRow.kind == kind)
    return _read_identities(connection, query.order_by(JobEndpoint.id))


def endpoints_of(connection: Connection, job: str) -> list[ReportedIdentity]:
    """Return the identities that the job's endpoints reported, oldest first. Damaged rows are left out."""
    return _read_identities(connection, select(*_COLUMNS).where(JobEndpoint.job == job).order_by(JobEndpoint.id))


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


_COLUMNS = (JobEndpoint.job, JobEndpoint.role, JobEndpoint.url, JobEndpoint.identity, JobEndpoint.seen_at)


def _read_identities(connection: Connection, query: Select[str, str, str, JsonObject, float]) -> list[ReportedIdentity]:
    return [
        ReportedIdentity(job, role, url, identity, seen_at)
        for job, role, url, identity, seen_at in connection.execute(query)
        if has_type(identity, dict)  # a damaged row has another value
    ]
