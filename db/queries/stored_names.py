"""List the names that stored jobs have: of tags, metrics, benchmarks, formulations and origins."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.models import JobRow, JobTag, ScoreSum

_COLUMNS = {
    "tag": JobTag.key,
    "metric": ScoreSum.metric,
    "benchmark": JobRow.benchmark,
    "formulation": JobRow.formulation,
    "origin": JobRow.origin,
}


def list_stored_names(connection: Connection, field: str) -> set[str]:
    """Return the names that stored jobs have in a field of filters. Raises KeyError for another field than these."""
    return set(connection.execute(select(_COLUMNS[field]).distinct()).scalars()) - {""}
