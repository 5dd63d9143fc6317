"""Jobs: looking one up, its figures, and the changes of its state. Each change is one compare-and-swap."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Row, and_, exists, func, not_, select, update

from db.approval_waits import note_awaiting
from db.chunks import Chunks
from db.connection import Database
from db.damage import DamagedJob, find_damage
from db.endings import take_back
from db.models import AuditSample, EpisodeRow, Item, JobRow, Label
from db.quarantine import update_waiting
from db.removal import hide, remove_rest
from db.states import HIDDEN, OPEN, UNFINISHED, ItemState, JobState
from db.sums import change_states
from db.sweep import change_items
from db.time_conditions import now_after
from db.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.errors import SpecError

_OWED = Item.state == ItemState.OWED
_UNHELD = Item.state.in_((ItemState.OWED, ItemState.AWAITING))  #: of an open job: what nobody works on
_STOPPED = Item.state.in_((ItemState.CANCELLED, ItemState.QUARANTINED))
#: What a resume changes, and into what: also what is owed already, but later.
_UNFINISHED = _STOPPED | (_OWED & ((Item.not_before_at > 0) | (Item.deaths > 0)))
_OWED_AGAIN = {"state": ItemState.OWED, "not_before_at": 0.0, "deaths": 0}
#: What a job becomes when nothing is left of it to do.
_AFTER = {
    JobState.QUEUED: JobState.DONE,
    JobState.RUNNING: JobState.DONE,
    JobState.PAUSED: JobState.DONE,
    JobState.FAILED: JobState.DONE,
    JobState.CANCELLING: JobState.CANCELLED,
}


def get_job(connection: Connection, job: str, damaged: bool = False) -> Row:
    """The job's row; a beginning of an id that only one job has will do.

    Raises SpecError when there is none, and DamagedJob when the row is damaged; with `damaged`, that is returned too.
    """
    if not job:  # every id begins with it
        raise SpecError("The job's id is empty. List the jobs with: lumos jobs")
    escaped = job.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    named = JobRow.id.like(f"{escaped}%", escape="\\")
    found = connection.execute(select(JobRow.__table__).where(named, JobRow.state.not_in(HIDDEN)).limit(2)).all()
    if len(found) != 1:
        problem = "No job has" if not found else "More than one job has"
        raise SpecError(f"{problem} an id that starts with '{job}'. List them with: lumos jobs")
    if not damaged and (problem := find_damage(found[0])):
        raise DamagedJob(str(found[0].id), problem)
    return found[0]


def find_job(connection: Connection, job: str) -> Row | None:
    """The row of the job with exactly this id; None when it does not exist (any more)."""
    wanted = select(JobRow.__table__).where(JobRow.id == job, JobRow.state.not_in(HIDDEN))
    return connection.execute(wanted).first()


def lock_job(connection: Connection, job: str) -> Row | None:
    """State, number of items and dataset of a job, locked before any of its items; None when it was removed.

    Every transaction that locks both takes them in this order.
    """
    wanted = select(JobRow.state, JobRow.items, JobRow.dataset)
    mine = wanted.where(JobRow.id == job, JobRow.state != JobState.REMOVING)
    return connection.execute(mine.with_for_update()).first()


def _require(connection: Connection, job: str) -> Row:
    """`lock_job`; raises SpecError when the job was removed meanwhile."""
    row = lock_job(connection, job)
    if row is None:
        raise SpecError(f"Job {job} was removed meanwhile. List the jobs there are with: lumos jobs")
    return row


def finish_if_idle(database: Database, job: str) -> str:
    """Finish the job if nothing of it is left to do; returns its state, `removed` for one that is gone.

    In its own transaction, after the last item's: two processes that finish the last two items do not see each other's.
    """
    cancelled = _cancel_most(database, job)
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None:
            return JobState.REMOVED
        state = row.state
        if state == JobState.CANCELLING and not cancelled:
            return state  # since a moment ago: the process that cancels it is at work, and finishes it
        if state == JobState.CANCELLING:  # what its workers gave back will not run either
            change_states(connection, job, and_(Item.job == job, _UNHELD), {"state": ItemState.CANCELLED})
        if after := _AFTER.get(state):
            finished = {"state": after, "finished_at": now_after(JobRow.started_at), "waiting": ""}
            connection.execute(update(JobRow).where(JobRow.id == job, *_idle()).values(finished))
        if state in OPEN:
            update_waiting(connection, job)
            note_awaiting(connection, job)
        return connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar_one()


def _idle() -> tuple[ColumnElement[bool], ...]:
    """Nothing of the job is left to do: three conditions, for each of which there is a small index."""
    return tuple(~exists().where(Item.job == JobRow.id, Item.state == state) for state in UNFINISHED)


def pause(database: Database, job: str) -> str:
    """Stop a job for a while: what is in flight is given back, its steps are kept. Returns the state after."""
    with database.writer.begin() as connection:
        _require(connection, job)
        mine = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN))
        connection.execute(mine.values(state=JobState.PAUSED, waiting=PAUSED_BY_PERSON))
    return finish_if_idle(database, job)


def cancel(database: Database, job: str) -> str:
    """Stop a job: what is owed will not run, what is running is told by heartbeat. Returns the state after.

    Very many items are cancelled in chunks; where that is cut off, the next `finish_if_idle` does the rest.
    """
    with database.writer.begin() as connection:
        if _require(connection, job).state in (*OPEN, JobState.PAUSED, JobState.FAILED):
            connection.execute(update(JobRow).where(JobRow.id == job).values(state=JobState.CANCELLING))
    return finish_if_idle(database, job)


def _cancel_most(database: Database, job: str) -> bool:
    """Cancel what is owed of a job that is being cancelled, if it is much: then in chunks. Whether it is such a job."""

    def is_cancelling(connection: Connection) -> bool:
        row = lock_job(connection, job)
        return row is not None and row.state == JobState.CANCELLING

    chunks = Chunks(database)
    with database.engine.connect() as connection:
        if connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar() != JobState.CANCELLING:
            return False
        owed = select(Item.id).where(Item.job == job, _UNHELD).limit(chunks.rows + 1).subquery()
        much = connection.execute(select(func.count()).select_from(owed)).scalar_one() > chunks.rows
    if much:
        change_items(chunks, job, _UNHELD, {"state": ItemState.CANCELLED}, is_cancelling)
    return True


def resume(database: Database, job: str) -> str:
    """Make a job's unfinished items owed again and due at once, and those that infrastructure ended or quarantined.

    Returns the state after. Very many items are owed again in chunks, before the job is open again: where that is cut
    off the job is as incomplete as before, and the next resume does the rest. Raises SpecError when another process
    cancels or removes it meanwhile.
    """
    chunks = Chunks(database)
    with database.writer.begin() as connection:
        before = _require(connection, job)
        take_back(connection, job)
        if before.items <= chunks.rows:
            return _open_again(connection, job, before.items)
        if before.state == JobState.CANCELLING:  # or the next `finish_if_idle` would cancel what is owed again
            paused = update(JobRow).where(JobRow.id == job)
            connection.execute(paused.values(state=JobState.PAUSED, waiting=PAUSED_BY_PERSON))

    def still(connection: Connection) -> bool:
        state = _require(connection, job).state
        if state in (JobState.CANCELLING, JobState.CANCELLED) and before.state != JobState.CANCELLED:
            raise SpecError(f"Job {job} was cancelled meanwhile. To go on with it all the same: lumos resume {job}")
        return True

    below = change_items(chunks, job, _UNFINISHED, _OWED_AGAIN, still)
    with database.writer.begin() as connection:
        still(connection)
        return _open_again(connection, job, below)


def _open_again(connection: Connection, job: str, below: int) -> str:
    """Owe the unfinished ones of the items before that ordinal, and open the job if anything of it is left to do."""
    change_states(connection, job, and_(Item.job == job, Item.ordinal < below, _UNFINISHED), _OWED_AGAIN)
    connection.execute(
        update(JobRow)
        .where(JobRow.id == job, not_(and_(*_idle())))
        .values(state=JobState.QUEUED, not_before_at=0.0, waits=0, waiting="", finished_at=None)
    )
    note_awaiting(connection, job)
    return connection.execute(select(JobRow.state).where(JobRow.id == job)).scalar_one()


def remove(database: Database, job: str, with_labels: bool = False) -> None:
    """Delete a job with everything it stored.

    Raises SpecError while it is being worked on and, unless `with_labels`, when people's work would go with it.
    """
    with database.writer.begin() as connection:
        check_removable(connection, _require(connection, job).state, job, with_labels)
        hide(connection, job)
    remove_rest(database, job)


def check_removable(connection: Connection, state: str, job: str, with_labels: bool) -> None:
    """Raises SpecError as `remove` does, for a job in that state."""
    if state in (*OPEN, JobState.CANCELLING):
        raise SpecError(f"Job {job} is {state}: cancel it first with: lumos cancel {job}")
    if not with_labels and (found := work_of_people(connection, job)):
        raise SpecError(
            f"People have worked on episodes of job {job}: {', '.join(found)}. "
            f"To remove it with all its labels and audit places: lumos rm {job} --with-labels"
        )


def work_of_people(connection: Connection, job: str) -> list[str]:
    """How many episodes of the job people have labelled, drawn or corrected elsewhere, in words."""
    own = select(Item.id).where(Item.job == job)
    counts = {
        "labelled": select(func.count(Label.episode.distinct())).where(Label.episode.in_(own)),
        "drawn in an audit": select(func.count(AuditSample.episode.distinct())).where(AuditSample.episode.in_(own)),
        "corrected in another job": select(func.count(EpisodeRow.parent.distinct())).where(
            EpisodeRow.parent.in_(own), EpisodeRow.job != job
        ),
    }
    found = {what: connection.execute(wanted).scalar_one() for what, wanted in counts.items()}
    return [f"{count:,} {what}" for what, count in found.items() if count]


def problems(connection: Connection, job: str, limit: int = 5) -> list[tuple[str, int]]:
    """(latest failure, items) of items that are owed again after one, the commonest first."""
    counted = func.count()
    rows = connection.execute(
        select(Item.problem, counted)
        .where(Item.job == job, Item.problem != "")
        .group_by(Item.problem)
        .order_by(counted.desc())
        .limit(limit)
    )
    return [(problem, items) for problem, items in rows]
