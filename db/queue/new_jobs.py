"""Submit a job: store its row, its dataset and its items."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from db.engine.chunks import UNTOUCHED_SECONDS, Chunks
from db.engine.connection import Database, now
from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from db.kinds.states import HIDDEN, JobState
from db.models import JobRow, JobTag
from db.queue.datasets import (
    NewDataset,
    encode_tasks,
    open_dataset,
    store_in_chunks,
    store_items,
    store_tasks,
    store_windows,
    verify_rows,
)
from db.queue.removal import remove_leftovers
from lumos_queue.records import Origin

#: Letters and digits that are not mistaken for one another.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
SAME_SECONDS = 0.2  #: between looks at whether another process has stored the same request


def new_id() -> str:
    """Return a random id for a job: eight letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


@dataclass(frozen=True, slots=True)
class NewJob:
    """The request for a new job of any kind."""

    kind: JobKind
    pool: Pool
    digest: str
    spec: dict[str, Any]
    benchmark: str
    formulation: str
    agent: str
    split: str
    licence: str
    seed: int
    project: str
    submitted_by: str
    priority: int
    code_version: str
    concurrency: int = 0  #: see lumos_queue/jobs/scheduling.py
    ordered: bool = False
    origin: Origin = Origin.RUN  #: of its episodes
    name: str = ""  #: neither this nor the fields below are part of the digest
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    parent: str | None = None  #: the job that it reruns or extends
    chosen: str = ""  #: the filter that selected its tasks from the parent's
    main_metric: str = ""  #: the metric of its `score`; '': its episodes have none
    #: The plug-ins that it needs (lumos_queue/util/plugins.py). They are part of the digest, unless there are none.
    plugins: Sequence[Mapping[str, str]] = ()


def create_job(
    database: Database,
    new: NewJob,
    dataset: NewDataset | None,
    *,
    limit: int = 0,
    samples: int = 1,
    windows: int = 0,
    again: bool = False,
) -> tuple[str, bool]:
    """Store the dataset, the job and its items; return the job's id and whether the job is new.

    There is an item for each sample of the first `limit` rows of the dataset (0: all), sample by sample, then `windows`
    items without a task. Unless `again`, a stored job of the same content that was not cancelled is returned instead. A
    small job is written in one transaction. A large job is written in chunks, and is hidden until the last chunk. The
    next submit removes the rows of a submit that was interrupted.
    """
    job, chunks = new_id(), Chunks(database)
    tasks = min(limit or len(dataset.tasks), len(dataset.tasks)) if dataset else 0
    items = tasks * samples + windows
    while True:
        remove_leftovers(database)
        with database.writer.begin() as connection:
            lock_digest(connection, new.digest)
            if not again and (same := find_same(connection, new.digest)):
                if dataset:
                    verify_rows(connection, dataset)
                return same, False
            if again or not is_being_submitted(connection, new.digest):
                complete = open_dataset(connection, dataset) if dataset else True
                small = max(items, 0 if complete or not dataset else len(dataset.tasks)) <= chunks.rows
                insert_job(
                    connection,
                    job,
                    new,
                    dataset=dataset.digest if dataset else None,
                    items=items,
                    state=JobState.SUBMITTING,
                    not_before_at=now() + UNTOUCHED_SECONDS,
                )
                if dataset and small:
                    if not complete:
                        store_tasks(connection, dataset, encode_tasks(dataset, 0, len(dataset.tasks)))
                    store_items(connection, job, dataset.digest, tasks, 0, tasks * samples)
                store_windows(connection, job, tasks * samples, items)
                if small:
                    publish(connection, job)
                    return job, True
                break
        time.sleep(SAME_SECONDS)  # another process is storing the same
    try:
        if dataset:
            store_in_chunks(chunks, job, dataset, tasks, samples)
        with database.writer.begin() as connection:
            chunks.touch(connection, job)
            publish(connection, job)
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            remove_leftovers(database, job)
        raise
    return job, True


def lock_digest(connection: Connection, digest: str) -> None:
    """Let only this transaction store a job of this digest until it ends. SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(int(digest[:15], 16))))


def find_same(connection: Connection, digest: str) -> str | None:
    return connection.execute(
        select(JobRow.id)
        .where(JobRow.digest == digest, JobRow.state.not_in((JobState.CANCELLED, JobState.CANCELLING, *HIDDEN)))
        .order_by(JobRow.created_at.desc())
        .limit(1)
    ).scalar()


def is_being_submitted(connection: Connection, digest: str) -> bool:
    query = select(JobRow.id).where(JobRow.digest == digest, JobRow.state == JobState.SUBMITTING)
    return connection.execute(query).first() is not None


def insert_job(connection: Connection, job: str, new: NewJob, **values: Any) -> None:
    """Insert the job's row; `values` are the columns that the request does not have."""
    columns: dict[str, Any] = asdict(new) | {
        "plugins": list(new.plugins),
        "id": job,
        "waiting": "",
        "not_before_at": 0.0,
        "waits": 0,
        "created_at": now(),
    }
    del columns["tags"]
    connection.execute(insert(JobRow).values(columns | values))
    if new.tags:
        rows = [{"job": job, "key": key, "value": value} for key, value in new.tags.items()]
        connection.execute(insert(JobTag), rows)


def publish(connection: Connection, job: str) -> None:
    """Make a completely stored job visible to people and workers."""
    connection.execute(
        update(JobRow).where(JobRow.id == job).values(state=JobState.QUEUED, not_before_at=0.0, created_at=now())
    )
