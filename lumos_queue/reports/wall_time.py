"""The wall time of a job."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from db.connection import clock


def wall_seconds(connection: Connection, job: Any) -> float | None:
    """Return the seconds from the start of the first slice to the end of a job (its row), or to now, with pauses.

    None if the job has not started. At least 0, even if the database's clock was set back.
    """
    if job.started_at is None:
        return None
    end = clock(connection) if job.finished_at is None else job.finished_at
    return max(0.0, end - job.started_at)
