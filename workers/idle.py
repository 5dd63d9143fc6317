"""Why nothing of a job is due, in words for the result of a Celery task."""

from __future__ import annotations

from db.connection import Database
from lumos_queue.reports.retry_reasons import describe_failing, read_failing

NOTHING_DUE = "nothing was due"


def describe_idle(database: Database, job: str) -> str:
    """That nothing of an open job was due, and why its items fail where they wait for their next try."""
    with database.engine.connect() as connection:
        failures = read_failing(connection, [job]).get(job)
    return f"{NOTHING_DUE}: {describe_failing(failures)}" if failures else NOTHING_DUE
