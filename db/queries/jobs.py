"""Look up jobs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, func, select

from db.kinds.states import HIDDEN, JobState
from db.models import Item, JobRow
from db.queries.damage import DamagedJob, find_damage, sound_jobs
from db.queue.stored_jobs import StoredJob, read_jobs, select_jobs
from lumos_queue.errors import SpecError


def get_job(connection: Connection, job: str, allow_damaged: bool = False) -> StoredJob:
    """Return a job. `job` is its id, or a beginning that no other id has.

    Raises SpecError when there is none, and DamagedJob when the row is damaged, unless `allow_damaged`.
    """
    if not job:  # every id begins with the empty text
        raise SpecError("The job's id is empty. List the jobs with: lumos jobs")
    prefix = job.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    has_prefix = JobRow.id.like(f"{prefix}%", escape="\\")
    query = select_jobs().where(has_prefix, JobRow.state.not_in(HIDDEN)).limit(2)
    jobs = read_jobs(connection.execute(query))
    if len(jobs) != 1:
        problem = "No job has" if not jobs else "More than one job has"
        raise SpecError(f"{problem} an id that starts with '{job}'. List them with: lumos jobs")
    if not allow_damaged and (problem := find_damage(jobs[0])):
        raise DamagedJob(str(jobs[0].id), problem)
    return jobs[0]


def find_job(connection: Connection, job: str) -> StoredJob | None:
    """Return the job with exactly this id; None if there is no such job."""
    query = select_jobs().where(JobRow.id == job, JobRow.state.not_in(HIDDEN))
    return next(iter(read_jobs(connection.execute(query))), None)


def find_announced_job(connection: Connection, kind: str, job: str) -> StoredJob | None:
    """Return the job that a message names by its kind and id, also while it is stored or removed; else None."""
    query = select_jobs().where(JobRow.id == job, JobRow.kind == kind)
    return next(iter(read_jobs(connection.execute(query))), None)


def get_job_of_item(connection: Connection, item: int) -> StoredJob:
    """Return the job of the item with this key, which this process has claimed."""
    query = select_jobs().join(Item, Item.job == JobRow.id).where(Item.id == item)
    (job,) = read_jobs(connection.execute(query))
    return job


def problems(connection: Connection, job: str, limit: int = 5) -> list[tuple[str, int]]:
    """Return (latest failure, items) of items that are pending again after a failure, the most frequent first."""
    count = func.count()
    rows = connection.execute(
        select(Item.problem, count)
        .where(Item.job == job, Item.problem != "")
        .group_by(Item.problem)
        .order_by(count.desc())
        .limit(limit)
    )
    return [(problem, items) for problem, items in rows]


def jobs_of_kind(connection: Connection, kind: str) -> list[StoredJob]:
    """Return the jobs of a kind that are neither cancelled nor damaged, newest first."""
    query = select_jobs().where(
        JobRow.kind == kind, JobRow.state.not_in((JobState.CANCELLING, JobState.CANCELLED, *HIDDEN))
    )
    return sound_jobs(read_jobs(connection.execute(query.order_by(JobRow.created_at.desc(), JobRow.id))))


def specs_of_kind(connection: Connection, kind: str) -> list[dict[str, Any]]:
    """Return the requests of all jobs of a kind. Damaged requests are left out."""
    return [row.spec for row in sound_jobs(connection.execute(select(JobRow.spec).where(JobRow.kind == kind)))]


def jobs_with_dataset(connection: Connection, kinds: Collection[str]) -> list[StoredJob]:
    """Return the jobs of these kinds that work on a dataset, in any state. Damaged jobs are left out."""
    query = select_jobs().where(JobRow.kind.in_(kinds), JobRow.dataset.is_not(None))
    return sound_jobs(read_jobs(connection.execute(query)))
