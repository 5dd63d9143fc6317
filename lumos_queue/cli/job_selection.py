"""Select the jobs of a command: by name or by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from db.engine.connection import Database
    from lumos_queue.settings import Settings


def choose_jobs(database: Database, settings: Settings, names: Sequence[str], where: str) -> list[str]:
    """Return the whole ids of the named jobs without repetitions, or of the jobs that match the filter, oldest first.

    Raises SpecError for names together with a filter, and if no job matches.
    """
    from db.engine.lease import Lease
    from db.queries.jobs import get_job
    from lumos_queue.errors import SpecError
    from lumos_queue.reports.job_list import find_jobs
    from lumos_queue.submission.filters import read_job_where

    if where and names:
        raise SpecError("Give either jobs or --where, not both: a job is named in a filter as job=ID.")
    condition = read_job_where(database, where)
    with database.engine.connect() as connection:
        if not where:
            return list(dict.fromkeys(get_job(connection, job).id for job in names))
        job_ids = find_jobs(connection, condition, Lease(settings.lease_seconds))[::-1]
    if not job_ids:
        raise SpecError(f"No job matches {condition}. List them with: lumos jobs")
    return job_ids
