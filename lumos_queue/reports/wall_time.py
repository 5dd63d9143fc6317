"""Compute the wall time of a job."""

from __future__ import annotations

from db.engine.connection import Connection, clock
from db.queue.stored_jobs import StoredJob


def wall_seconds(connection: Connection, job: StoredJob) -> float | None:
    """Return the seconds, pauses included, from the start of a job's first slice to its end, or to now if it runs.

    `job` is its row. Return None if the job has not started. The result is at least 0, even if the clock was set back.
    """
    if job.started_at is None:
        return None
    end = clock(connection) if job.finished_at is None else job.finished_at
    return max(0.0, end - job.started_at)
