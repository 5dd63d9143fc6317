"""Explain in the result of a Celery task why no item of a job is due."""

from __future__ import annotations

from db.engine.connection import Database
from lumos_queue.reports.retry_reasons import describe_retry_reason, read_retry_reason

NOTHING_DUE = "nothing was due"


def describe_idle(database: Database, job: str) -> str:
    """Return why an open job has no due items, with the reason of failures if items wait for another try."""
    with database.engine.connect() as connection:
        failures = read_retry_reason(connection, [job]).get(job)
    return f"{NOTHING_DUE}: {describe_retry_reason(failures)}" if failures else NOTHING_DUE
