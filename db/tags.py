"""What people call jobs: a name and tags. They are no part of a request's digest, and can be changed at any time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, insert, select, update

from db.connection import Database
from db.models import JobRow, JobTag
from lumos_queue.errors import SpecError


@dataclass(frozen=True, slots=True)
class NameAndTags:
    """Of one job, sanitized (lumos_queue/submission/tags.py)."""

    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


UNNAMED = NameAndTags()


def tags_of(connection: Connection, jobs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Key to value of the tags of each of these jobs that has some, in one query."""
    wanted = select(JobTag.job, JobTag.key, JobTag.value).where(JobTag.job.in_(jobs)).order_by(JobTag.job, JobTag.key)
    found: dict[str, dict[str, str]] = {}
    for job, key, value in connection.execute(wanted):
        # SQLite stores bytes in a column of texts, too.
        found.setdefault(job, {})[_as_text(key)] = _as_text(value)
    return found


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "damaged"


def change_tags(
    database: Database,
    job: str,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    remove: Collection[str] = (),
) -> NameAndTags:
    """Give the job another name (None: as before), set tags and remove others; returns what it is called afterwards.

    Raises SpecError for a tag to remove that the job does not have, and when the job was removed meanwhile.
    """
    from db.jobs import lock_job  # with all that changes jobs: those who only read tags need none of it

    tags = tags or {}
    with database.writer.begin() as connection:
        if lock_job(connection, job) is None:
            raise SpecError(f"Job {job} was removed meanwhile. List the jobs there are with: lumos jobs")
        before = tags_of(connection, [job]).get(job, {})
        if missing := sorted(set(remove) - set(before)):
            raise SpecError(f"Job {job} has no tag '{missing[0]}'. It has: {', '.join(before) or 'none'}.")
        if name is not None:
            connection.execute(update(JobRow).where(JobRow.id == job).values(name=name))
        if gone := {*remove, *tags}:
            connection.execute(delete(JobTag).where(JobTag.job == job, JobTag.key.in_(gone)))
        if tags:
            rows = [{"job": job, "key": key, "value": value} for key, value in tags.items()]
            connection.execute(insert(JobTag), rows)
        after = connection.execute(select(JobRow.name).where(JobRow.id == job)).scalar_one()
        return NameAndTags(after, tags_of(connection, [job]).get(job, {}))
