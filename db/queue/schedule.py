"""The jobs that may be worked on now, and the times at which waiting jobs are retried."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.orm import aliased

from db.engine.conditions import Value
from db.engine.connection import Database, now
from db.engine.time_conditions import ITEM_WAIT_SECONDS, JOB_WAIT_SECONDS, is_due, is_older
from db.kinds.states import OPEN, UNFINISHED, ItemState, JobState
from db.models import Item, JobEndpoint, JobRow
from db.queue.claims import its_turn
from db.queue.figures import count_done_items
from db.queue.job_changes import lock_job
from db.queue.stored_jobs import JOB_COLUMNS, AwaitedJob, StoredJob
from db.queue.wait_reasons import awaits_job
from lumos_queue.util.sanitize import storable_json


@dataclass(frozen=True, slots=True)
class JobToAnnounce:
    """What a message to the workers of a job needs."""

    id: str
    kind: str
    items: int
    pool: str


def runnable_jobs(
    database: Database, pools: Iterable[str], older_than: float = 0.0, after: str = "", beside: str = ""
) -> list[str]:
    """Return the jobs with an item that can be claimed now: the most urgent first, then the earliest submitted.

    Jobs submitted less than `older_than` seconds ago are left out. Among equally urgent jobs, the jobs submitted later
    than the job `after` come first, so that jobs take turns. With a job `beside`, only other jobs that are at least as
    urgent as that job are returned.
    """
    query = _select_runnable(bool(older_than), bool(after), bool(beside))
    values = {"pools": list(pools), "seconds": older_than, "after": after, "beside": beside}
    with database.engine.connect() as connection:
        return list(connection.execute(query, values).scalars())


@cache
def _select_runnable(has_min_age: bool, in_turn: bool, beside: bool) -> Select[str]:
    """Return the statement of `runnable_jobs`. It is built once: a worker with short jobs sends it for each job."""
    reference_job, awaited_job = aliased(JobRow), aliased(JobRow)
    due = exists().where(
        Item.job == JobRow.id,
        Item.state == ItemState.OWED,
        is_due(Item.not_before_at, ITEM_WAIT_SECONDS),
        or_(~JobRow.ordered, its_turn()),
    )
    in_pools = JobRow.pool.in_(bindparam("pools", expanding=True))
    conditions = [JobRow.state.in_(OPEN), in_pools, is_due(JobRow.not_before_at, JOB_WAIT_SECONDS), due]
    conditions.append(~exists().where(awaited_job.id == JobRow.awaits, awaited_job.state.in_(OPEN)))
    if has_min_age:
        conditions.append(is_older(JobRow.created_at, bindparam("seconds", type_=Float)))
    if beside:
        urgency = select(reference_job.priority).where(reference_job.id == bindparam("beside")).scalar_subquery()
        conditions += [JobRow.id != bindparam("beside"), JobRow.priority >= urgency]
    order: list[Value] = [JobRow.priority.desc(), JobRow.created_at]
    if in_turn:
        submission_time = (
            select(reference_job.created_at).where(reference_job.id == bindparam("after")).scalar_subquery()
        )
        order.insert(1, case((JobRow.created_at > submission_time, 0), else_=1))
    return select(JobRow.id).where(*conditions).order_by(*order)


def find_idle_jobs(database: Database) -> list[str]:
    """Return open jobs without remaining work. A process may have died before its call of `finish_if_idle`."""
    with database.engine.connect() as connection:
        return list(connection.execute(_select_idle()).scalars())


@cache
def _select_idle() -> Select[str]:
    has_items = {state: exists().where(Item.job == JobRow.id, Item.state == state) for state in UNFINISHED}
    nothing_left = and_(JobRow.state.in_(OPEN), *(~condition for condition in has_items.values()))
    is_idle = or_(nothing_left, and_(JobRow.state == JobState.CANCELLING, ~has_items[ItemState.CLAIMED]))
    return select(JobRow.id).where(is_idle)


def back_off(database: Database, job: str, reason: str, wait_seconds: float) -> None:
    """Let no slice start on the job for `wait_seconds`; store the reason. Each wait in a row is twice as long."""
    with database.writer.begin() as connection:
        row = connection.execute(
            select(JobRow.waits, (~is_due(JobRow.not_before_at, JOB_WAIT_SECONDS)).label("waiting"))
            .where(JobRow.id == job, JobRow.state != JobState.REMOVING)
            .with_for_update()
        ).first()
        if row is None or row.waiting:  # the job was removed; or another slice has counted the same outage
            return
        wait = min(wait_seconds * 2.0 ** min(row.waits, 10), JOB_WAIT_SECONDS)
        connection.execute(
            update(JobRow)
            .where(JobRow.id == job, JobRow.state.in_(OPEN))  # a stopped job keeps its reason
            .values(waiting=reason, waits=row.waits + 1, not_before_at=now() + wait)
        )


def await_job(database: Database, job: str, awaited_job: str, reason: str) -> JobToAnnounce | None:
    """Let no slice start on the job while the job `awaited_job` is open, and store the reason.

    Return the awaited job. Return None, without a wait, when one of the jobs is not open.
    """
    with database.writer.begin() as connection:
        if (row := lock_job(connection, job)) is None or row.state not in OPEN:
            return None
        jobs = _load_to_announce(connection, JobRow.id == awaited_job, JobRow.state.in_(OPEN))
        if not jobs:
            return None
        connection.execute(update(JobRow).where(JobRow.id == job).values(awaits=awaited_job, waiting=reason))
        return jobs[0]


def list_awaited_jobs(database: Database, job: str) -> list[str]:
    """Return the chain of open jobs that begins with `job`: each job waits for the next job of the list."""
    jobs: list[str] = []
    next_job: str | None = job
    with database.engine.connect() as connection:
        while next_job and next_job not in jobs:
            query = select(JobRow.id, JobRow.awaits).where(JobRow.id == next_job, JobRow.state.in_(OPEN))
            if (row := connection.execute(query).first()) is None:
                break
            jobs.append(row.id)
            next_job = row.awaits
    return jobs


def find_awaited(connection: Connection, job: StoredJob) -> AwaitedJob | None:
    """Return the open job that a job waits for, or None."""
    if not awaits_job(job):
        return None
    query = select(*JOB_COLUMNS, count_done_items()).where(JobRow.id == job.awaits, JobRow.state.in_(OPEN))
    row = connection.execute(query).first()
    return AwaitedJob(*row) if row else None


def jobs_awaiting(database: Database, job: str) -> list[JobToAnnounce]:
    """Return the open jobs that wait for the job."""
    with database.engine.connect() as connection:
        return _load_to_announce(connection, JobRow.awaits == job, JobRow.state.in_(OPEN))


def load_to_announce(connection: Connection, jobs: Collection[str]) -> list[JobToAnnounce]:
    """Return those of these jobs that are stored."""
    return _load_to_announce(connection, JobRow.id.in_(jobs))


def _load_to_announce(connection: Connection, *conditions: ColumnElement[bool]) -> list[JobToAnnounce]:
    rows = connection.execute(select(JobRow.id, JobRow.kind, JobRow.items, JobRow.pool).where(*conditions))
    return [JobToAnnounce(*row) for row in rows]


def reset_backoff(database: Database, job: str) -> None:
    """Make the next wait of `back_off` the shortest again, because an item of the job was finished."""
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job, JobRow.waits > 0).values(waits=0))


def begin_work(database: Database, job: str, identities: Sequence[tuple[str, str, Mapping[str, object]]]) -> bool:
    """Record that a slice starts on the job: clear the reason of its wait, and store the identities of its endpoints.

    Return whether the slice may start: False when the job was stopped or removed meanwhile.
    """
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None or row.state not in OPEN:
            return False
        connection.execute(
            update(JobRow)
            .where(JobRow.id == job, JobRow.state == JobState.QUEUED)
            .values(state=JobState.RUNNING, started_at=func.coalesce(JobRow.started_at, now()))
        )
        waits = or_(JobRow.waiting != "", JobRow.awaits.is_not(None))
        connection.execute(update(JobRow).where(JobRow.id == job, waits).values(waiting="", awaits=None))
        for role, url, reported_identity in identities:
            identity = storable_json(reported_identity)
            latest = connection.execute(
                select(JobEndpoint.identity)
                .where(JobEndpoint.job == job, JobEndpoint.role == role, JobEndpoint.url == url)
                .order_by(JobEndpoint.id.desc())
                .limit(1)
            ).first()
            if latest is None or latest.identity != identity:
                connection.execute(
                    insert(JobEndpoint).values(job=job, role=role, url=url, identity=identity, seen_at=now())
                )
    return True
