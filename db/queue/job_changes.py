"""Look up jobs and change their state. A change is one UPDATE whose condition names the former state."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, exists, func, not_, select, update

from db.engine.chunks import Chunks
from db.engine.connection import Database
from db.engine.time_conditions import now_after
from db.kinds.states import OPEN, UNFINISHED, ItemState, JobState
from db.models import AuditSample, EpisodeRow, Item, JobRow, Label
from db.queue.approval_waits import note_awaiting
from db.queue.endings import take_back
from db.queue.quarantine import update_waiting
from db.queue.removal import hide, remove_rest
from db.queue.sums import change_states
from db.queue.sweep import change_items
from db.queue.wait_reasons import PAUSED_BY_PERSON
from db.queue.web_actions import PersonAction
from lumos_queue.errors import SpecError

_OWED = Item.state == ItemState.OWED
_UNHELD = Item.state.in_((ItemState.OWED, ItemState.AWAITING))  #: items of an open job that no process works on
_STOPPED = Item.state.in_((ItemState.CANCELLED, ItemState.QUARANTINED))
#: Items that a resume changes, including pending ones that are not due yet, and their new state.
_UNFINISHED = _STOPPED | (_OWED & ((Item.not_before_at > 0) | (Item.deaths > 0)))
_OWED_AGAIN = {"state": ItemState.OWED, "not_before_at": 0.0, "deaths": 0}
#: The state of a job without remaining work, by its state before.
_AFTER: dict[str, JobState] = {
    JobState.QUEUED: JobState.DONE,
    JobState.RUNNING: JobState.DONE,
    JobState.PAUSED: JobState.DONE,
    JobState.FAILED: JobState.DONE,
    JobState.CANCELLING: JobState.CANCELLED,
}


class LockedJob(NamedTuple):
    """Values of a job's row, which the transaction has locked."""

    state: str  #: a JobState
    items: int
    dataset: str | None


def lock_job(connection: Connection, job: str) -> LockedJob | None:
    """Lock a job's row; return its state, number of items and dataset, or None when the job was removed.

    A transaction that locks a job and items of it locks the job first. Otherwise two transactions could deadlock.
    """
    query = select(JobRow.state, JobRow.items, JobRow.dataset)
    job_query = query.where(JobRow.id == job, JobRow.state != JobState.REMOVING)
    row = connection.execute(job_query.with_for_update()).first()
    return None if row is None else LockedJob(*row)


def _require(connection: Connection, job: str) -> LockedJob:
    """Lock the job's row, as `lock_job` does. Raises SpecError when the job was removed meanwhile."""
    row = lock_job(connection, job)
    if row is None:
        raise SpecError(f"Job {job} was removed meanwhile. List the jobs with: lumos jobs")
    return row


def finish_if_idle(database: Database, job: str) -> str:
    """Finish the job if no work remains; return its state, `removed` for a removed job.

    This needs its own transaction, after the one that ended the last item: two processes that end the last two items at
    once do not see each other's changes.
    """
    was_cancelling = _cancel_most(database, job)
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None:
            return JobState.REMOVED
        state = row.state
        if state == JobState.CANCELLING and not was_cancelling:
            return state  # since a moment ago: the process that cancels the job also finishes it
        if state == JobState.CANCELLING:  # including items that its workers gave back
            change_states(connection, job, and_(Item.job == job, _UNHELD), {"state": ItemState.CANCELLED})
        if after := _AFTER.get(state):
            changes = {"state": after, "finished_at": now_after(JobRow.started_at), "waiting": ""}
            connection.execute(update(JobRow).where(JobRow.id == job, *_idle()).values(changes))
        if state in OPEN:
            update_waiting(connection, job)
            note_awaiting(connection, job)
        return connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar_one()


def _idle() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a job has no remaining work. A small index serves each condition."""
    return tuple(~exists().where(Item.job == JobRow.id, Item.state == state) for state in UNFINISHED)


def pause(database: Database, job: str, action: PersonAction | None = None) -> str:
    """Pause a job: its items in flight are given back, and their steps stay. Return the new state.

    `action` is recorded with the change.
    """
    with database.writer.begin() as connection:
        _record(connection, action, _require(connection, job).state)
        statement = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN))
        connection.execute(statement.values(state=JobState.PAUSED, waiting=PAUSED_BY_PERSON))
    return finish_if_idle(database, job)


def cancel(database: Database, job: str, action: PersonAction | None = None) -> str:
    """Cancel a job: pending items do not run, and workers learn of it by heartbeat. Return the new state.

    `action` is recorded with the change of the job's state.
    Very many items are cancelled in chunks. After an interruption, the next `finish_if_idle` cancels the rest.
    """
    with database.writer.begin() as connection:
        state = _require(connection, job).state
        _record(connection, action, state)
        if state in (*OPEN, JobState.PAUSED, JobState.FAILED):
            connection.execute(update(JobRow).where(JobRow.id == job).values(state=JobState.CANCELLING))
    return finish_if_idle(database, job)


def _cancel_most(database: Database, job: str) -> bool:
    """Return whether the job is being cancelled. If so, cancel its pending items in chunks, if there are very many."""

    def is_cancelling(connection: Connection) -> bool:
        row = lock_job(connection, job)
        return row is not None and row.state == JobState.CANCELLING

    chunks = Chunks(database)
    with database.engine.connect() as connection:
        if connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar() != JobState.CANCELLING:
            return False
        pending_items = select(Item.id).where(Item.job == job, _UNHELD).limit(chunks.rows + 1).subquery()
        is_large = connection.execute(select(func.count()).select_from(pending_items)).scalar_one() > chunks.rows
    if is_large:
        change_items(chunks, job, _UNHELD, {"state": ItemState.CANCELLED}, is_cancelling)
    return True


def resume(database: Database, job: str, action: PersonAction | None = None) -> str:
    """Make a job's unfinished, quarantined and `infra_error` items pending and due; return the job's new state.

    If there are very many items, they change in chunks before the job is open again. After an interruption the job is
    still stopped, and the next resume changes the remaining items. Raises SpecError when another process cancels or
    removes the job meanwhile.
    """
    chunks = Chunks(database)
    with database.writer.begin() as connection:
        before = _require(connection, job)
        _record(connection, action, before.state)
        take_back(connection, job)
        if before.items <= chunks.rows:
            return _open_again(connection, job, before.items)
        if before.state == JobState.CANCELLING:  # else the next `finish_if_idle` would cancel these items
            statement = update(JobRow).where(JobRow.id == job)
            connection.execute(statement.values(state=JobState.PAUSED, waiting=PAUSED_BY_PERSON))

    def check_not_cancelled(connection: Connection) -> bool:
        state = _require(connection, job).state
        if state in (JobState.CANCELLING, JobState.CANCELLED) and before.state != JobState.CANCELLED:
            raise SpecError(f"Job {job} was cancelled meanwhile. To continue it anyway: lumos resume {job}")
        return True

    below = change_items(chunks, job, _UNFINISHED, _OWED_AGAIN, check_not_cancelled)
    with database.writer.begin() as connection:
        check_not_cancelled(connection)
        return _open_again(connection, job, below)


def _record(connection: Connection, action: PersonAction | None, state: str) -> None:
    """Record the action on a job that was in this state."""
    if action:
        action.record(connection, f"was {state}")


def _open_again(connection: Connection, job: str, below: int) -> str:
    """Make the unfinished items before ordinal `below` pending, and open the job if work remains; return its state."""
    change_states(connection, job, and_(Item.job == job, Item.ordinal < below, _UNFINISHED), _OWED_AGAIN)
    connection.execute(
        update(JobRow)
        .where(JobRow.id == job, not_(and_(*_idle())))
        .values(state=JobState.QUEUED, not_before_at=0.0, waits=0, waiting="", finished_at=None)
    )
    note_awaiting(connection, job)
    return connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar_one()


def remove(database: Database, job: str, with_labels: bool = False) -> None:
    """Delete a job with everything that it stored.

    Raises SpecError while workers may work on the job. Also raises it, unless `with_labels`, when the work of people
    (labels, audits, corrections) would be lost.
    """
    with database.writer.begin() as connection:
        check_removable(connection, _require(connection, job).state, job, with_labels)
        hide(connection, job)
    remove_rest(database, job)


def check_removable(connection: Connection, state: str, job: str, with_labels: bool) -> None:
    """Raise SpecError if `remove` may not delete the job. `state`: the job's stored state."""
    if state in (*OPEN, JobState.CANCELLING):
        raise SpecError(f"Job {job} is {state}: cancel it first with: lumos cancel {job}")
    if not with_labels and (work := work_of_people(connection, job)):
        raise SpecError(
            f"People have worked on episodes of job {job}: {', '.join(work)}. "
            f"To remove it with all its labels and audit places: lumos rm {job} --with-labels"
        )


def work_of_people(connection: Connection, job: str) -> list[str]:
    """Return texts such as `3 labelled`: episodes that people have labelled, drawn for an audit or corrected."""
    items = select(Item.id).where(Item.job == job)
    counts = {
        "labelled": select(func.count(Label.episode.distinct())).where(Label.episode.in_(items)),
        "drawn in an audit": select(func.count(AuditSample.episode.distinct())).where(AuditSample.episode.in_(items)),
        "corrected in another job": select(func.count(EpisodeRow.parent.distinct())).where(
            EpisodeRow.parent.in_(items), EpisodeRow.job != job
        ),
    }
    episode_counts = {activity: connection.execute(query).scalar_one() for activity, query in counts.items()}
    return [f"{count:,} {activity}" for activity, count in episode_counts.items() if count]
