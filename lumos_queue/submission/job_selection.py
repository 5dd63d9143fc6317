"""Select stored jobs: by name or by a filter."""

from __future__ import annotations

from collections.abc import Sequence

from db.engine.connection import Database
from db.engine.lease import Lease
from db.queries.jobs import get_job
from lumos_queue.errors import SpecError
from lumos_queue.reports.job_list import find_jobs
from lumos_queue.submission.filters import read_job_where


def choose_jobs(
    database: Database, lease: Lease, names: Sequence[str], where: str, option: str = "--where"
) -> list[str]:
    """Return the whole ids of the named jobs without repetitions, or of the jobs that match the filter, oldest first.

    Raises SpecError for names together with a filter, and if no job matches. `option`: what the user gave the filter
    with, for this message.
    """
    if where and names:
        raise SpecError(f"Give either jobs or {option}, not both: a filter names a job as job=ID.")
    condition = read_job_where(database, where)
    with database.engine.connect() as connection:
        if not where:
            return list(dict.fromkeys(get_job(connection, job).id for job in names))
        job_ids = find_jobs(connection, condition, lease)[::-1]
    if not job_ids:
        raise SpecError(f"No job matches {condition}. List them with: lumos jobs")
    return job_ids


def choose_evaluations(
    database: Database, lease: Lease, names: Sequence[str], where: str, option: str = "--where"
) -> list[str]:
    """Return the ids of the named jobs, or of all evaluations that match the filter; '' matches all.

    Raises SpecError as `choose_jobs` does.
    """
    terms = where if names else f"{where} kind=evaluate".strip()
    return choose_jobs(database, lease, names, terms, option)
