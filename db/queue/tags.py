"""People's labels of jobs: a name and tags. They are not part of a request's digest, and can change at any time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select, update

from db.engine.connection import Database
from db.kinds.name_and_tags import NameAndTags
from db.models import JobRow, JobTag
from lumos_queue.errors import SpecError


def tags_of(connection: Connection, jobs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the tags, by key, of each of these jobs that has tags. One query reads them."""
    query = select(JobTag.job, JobTag.key, JobTag.value).where(JobTag.job.in_(jobs)).order_by(JobTag.job, JobTag.key)
    tags: dict[str, dict[str, str]] = {}
    for job, key, value in connection.execute(query):
        # SQLite stores bytes in a column of texts, too.
        tags.setdefault(job, {})[_as_text(key)] = _as_text(value)
    return tags


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "damaged"


def change_tags(
    database: Database,
    job: str,
    name: str | None = None,
    tags: Mapping[str, str] | None = None,
    remove: Collection[str] = (),
) -> NameAndTags:
    """Change the job's name (None: no change), set `tags`, and remove the keys `remove`; return its new name and tags.

    Raises SpecError if the job has no tag with a key of `remove`, and when the job was removed meanwhile.
    """
    from db.queue.job_changes import (
        lock_job,  # imported here, because readers of tags do not need the code that changes jobs
    )

    tags = tags or {}
    with database.writer.begin() as connection:
        if lock_job(connection, job) is None:
            raise SpecError(f"Job {job} was removed meanwhile. List the jobs with: lumos jobs")
        before = tags_of(connection, [job]).get(job, {})
        if missing_keys := sorted(set(remove) - set(before)):
            raise SpecError(f"Job {job} has no tag '{missing_keys[0]}'. It has: {', '.join(before) or 'none'}.")
        if name is not None:
            connection.execute(update(JobRow).where(JobRow.id == job).values(name=name))
        if replaced_keys := {*remove, *tags}:
            connection.execute(delete(JobTag).where(JobTag.job == job, JobTag.key.in_(replaced_keys)))
        if tags:
            rows = [{"job": job, "key": key, "value": value} for key, value in tags.items()]
            connection.execute(insert(JobTag), rows)
        after = connection.execute(select(JobRow.name).where(JobRow.id == job)).scalar_one()
        return NameAndTags(after, tags_of(connection, [job]).get(job, {}))
