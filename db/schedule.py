"""Which jobs may be worked on now, and when a job that waits is tried again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Connection, Float, Row, Select, and_, bindparam, case, exists, func, insert, or_, select, update
from sqlalchemy.orm import aliased

from db.claims import its_turn
from db.connection import Database, now
from db.figures import done_items
from db.jobs import lock_job
from db.models import Item, JobEndpoint, JobRow
from db.states import OPEN, UNFINISHED, ItemState, JobState
from db.time_conditions import ITEM_WAIT_SECONDS, JOB_WAIT_SECONDS, is_due, is_older
from db.wait_reasons import awaits_job
from lumos_queue.util.sanitize import storable_json


def runnable_jobs(
    database: Database, pools: Iterable[str], older_than: float = 0.0, after: str = "", beside: str = ""
) -> list[str]:
    """Jobs with an item that can be claimed now, the most urgent first, then in the order of their submission.

    Jobs submitted less than `older_than` seconds ago are left out. Among equally urgent ones those submitted later than
    `after` come first, so that each has its turn. With `beside`, only other jobs at least as urgent as that one.
    """
    wanted = _select_runnable(bool(older_than), bool(after), bool(beside))
    values = {"pools": list(pools), "seconds": older_than, "after": after, "beside": beside}
    with database.engine.connect() as connection:
        return list(connection.execute(wanted, values).scalars())


@cache
def _select_runnable(settled: bool, in_turn: bool, beside: bool) -> Select[str]:
    """The statement of `runnable_jobs`, made once: a worker with short jobs sends it again for each."""
    served, awaited = aliased(JobRow), aliased(JobRow)
    due = exists().where(
        Item.job == JobRow.id,
        Item.state == ItemState.OWED,
        is_due(Item.not_before_at, ITEM_WAIT_SECONDS),
        or_(~JobRow.ordered, its_turn()),
    )
    pools = JobRow.pool.in_(bindparam("pools", expanding=True))
    wanted = [JobRow.state.in_(OPEN), pools, is_due(JobRow.not_before_at, JOB_WAIT_SECONDS), due]
    wanted.append(~exists().where(awaited.id == JobRow.awaits, awaited.state.in_(OPEN)))
    if settled:
        wanted.append(is_older(JobRow.created_at, bindparam("seconds", type_=Float)))
    if beside:
        urgency = select(served.priority).where(served.id == bindparam("beside")).scalar_subquery()
        wanted += [JobRow.id != bindparam("beside"), JobRow.priority >= urgency]
    order = [JobRow.priority.desc(), JobRow.created_at]
    if in_turn:
        submitted = select(served.created_at).where(served.id == bindparam("after")).scalar_subquery()
        order.insert(1, case((JobRow.created_at > submitted, 0), else_=1))
    return select(JobRow.id).where(*wanted).order_by(*order)


def find_idle_jobs(database: Database) -> list[str]:
    """Open jobs that have nothing left to do: a process died between its last item and `finish_if_idle`."""
    with database.engine.connect() as connection:
        return list(connection.execute(_select_idle()).scalars())


@cache
def _select_idle() -> Select[str]:
    left = {state: exists().where(Item.job == JobRow.id, Item.state == state) for state in UNFINISHED}
    nothing_left = and_(JobRow.state.in_(OPEN), *(~one for one in left.values()))
    over = or_(nothing_left, and_(JobRow.state == JobState.CANCELLING, ~left[ItemState.CLAIMED]))
    return select(JobRow.id).where(over)


def back_off(database: Database, job: str, reason: str, wait_seconds: float) -> None:
    """Keep slices from starting on the job for a while, twice as long each time in a row, and say why."""
    with database.writer.begin() as connection:
        found = connection.execute(
            select(JobRow.waits, (~is_due(JobRow.not_before_at, JOB_WAIT_SECONDS)).label("waiting"))
            .where(JobRow.id == job, JobRow.state != JobState.REMOVING)
            .with_for_update()
        ).first()
        if found is None or found.waiting:  # it was removed; or another slice has met the same outage: that counts once
            return
        wait = min(wait_seconds * 2.0 ** min(found.waits, 10), JOB_WAIT_SECONDS)
        connection.execute(
            update(JobRow)
            .where(JobRow.id == job, JobRow.state.in_(OPEN))  # what it was stopped for stays
            .values(waiting=reason, waits=found.waits + 1, not_before_at=now() + wait)
        )


def await_job(database: Database, job: str, other: str, reason: str) -> Row | None:
    """Keep slices from starting on the job as long as the other one is open, and say why; returns the other's row.

    None when that is not open any more: then there is nothing to wait for.
    """
    with database.writer.begin() as connection:
        if (row := lock_job(connection, job)) is None or row.state not in OPEN:
            return None
        wanted = select(JobRow.id, JobRow.kind, JobRow.items, JobRow.pool)
        found = connection.execute(wanted.where(JobRow.id == other, JobRow.state.in_(OPEN))).first()
        if found is not None:
            connection.execute(update(JobRow).where(JobRow.id == job).values(awaits=other, waiting=reason))
        return found


def awaited_jobs(database: Database, job: str) -> list[str]:
    """The job, the job that it waits for, the one that this waits for, and so on, as far as they are open."""
    found: list[str] = []
    following: str | None = job
    with database.engine.connect() as connection:
        while following and following not in found:
            wanted = select(JobRow.id, JobRow.awaits).where(JobRow.id == following, JobRow.state.in_(OPEN))
            if (row := connection.execute(wanted).first()) is None:
                break
            found.append(row.id)
            following = row.awaits
    return found


def find_awaited(connection: Connection, job: Row) -> Row | None:
    """The row of the open job that a job (its row) waits for, with how many of its items are `done`; None if none."""
    if not awaits_job(job):
        return None
    wanted = select(JobRow.__table__, done_items().label("done")).where(JobRow.id == job.awaits, JobRow.state.in_(OPEN))
    return connection.execute(wanted).first()


def jobs_awaiting(database: Database, job: str) -> list[Row]:
    """Id, kind and pool of the open jobs that wait for the job."""
    wanted = select(JobRow.id, JobRow.kind, JobRow.pool).where(JobRow.awaits == job, JobRow.state.in_(OPEN))
    with database.engine.connect() as connection:
        return list(connection.execute(wanted))


def reset_backoff(database: Database, job: str) -> None:
    """An item of the job was finished: the next wait is again the first one."""
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job, JobRow.waits > 0).values(waits=0))


def begin_work(database: Database, job: str, identities: Sequence[tuple[str, str, dict]]) -> bool:
    """Note that a slice starts on the job: what it waited for has come, and who its endpoints say they are.

    Returns whether it may: False when the job was stopped or removed meanwhile.
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
        for role, url, told in identities:
            identity = storable_json(told)
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
