"""Jobs: submitting one, looking one up, and the changes of its state. Each change is one compare-and-swap."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, case, exists, func, insert, not_, or_, select, update
from sqlalchemy.orm import aliased

from db.chunks import UNTOUCHED_SECONDS, Chunks
from db.claims import its_turn
from db.connection import Database, now
from db.datasets import NewDataset, open_dataset, store_in_chunks, store_items, store_tasks, store_windows
from db.endings import take_back
from db.models import AuditSample, EpisodeRow, Item, Job, JobEndpoint, Label
from db.quarantine import say_what_is_left
from db.removal import hide, remove_leftovers, remove_rest
from db.states import HIDDEN, OPEN, ItemState, JobState
from db.sweep import change_items
from lumos_queue.errors import SpecError
from lumos_queue.util.sanitize import storable_json

#: Letters and digits that are not mistaken for one another.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
SAME_SECONDS = 0.2  #: between looks at whether another process has stored the same request
_OWED = Item.state == ItemState.OWED
#: What a resume changes, and into what: also what is owed already, but later.
_UNFINISHED = Item.state.in_((ItemState.CANCELLED, ItemState.QUARANTINED)) | (
    _OWED & ((Item.not_before_at > 0) | (Item.deaths > 0))
)
#: What a job becomes when none of its items is owed or claimed.
_AFTER = {
    JobState.QUEUED: JobState.DONE,
    JobState.RUNNING: JobState.DONE,
    JobState.PAUSED: JobState.DONE,
    JobState.CANCELLING: JobState.CANCELLED,
}
_OWED_AGAIN = {"state": ItemState.OWED, "not_before_at": 0.0, "deaths": 0}


def new_id() -> str:
    """A job's id: eight letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(8))


@dataclass(frozen=True, slots=True)
class NewJob:
    """What submitting needs to know of a job, whatever its kind."""

    kind: str
    pool: str
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
    ordered: bool = False
    origin: str = "run"  #: of its episodes: run, converted, derived, imported or corrected


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
    """Write rows, job and items; returns the job's id and whether it is new.

    Items are (task, sample) for the first `limit` rows of the dataset (0: all), sample by sample, or `windows` without
    a task. A job of the same content that was not cancelled is returned instead, unless `again`. What is small is
    written in one transaction. What is not is written in chunks: the job is not there for anybody before the last one,
    and a submit that died half-way is removed by the next one.
    """
    job, chunks = new_id(), Chunks(database)
    tasks = min(limit or len(dataset.tasks), len(dataset.tasks)) if dataset else 0
    items = tasks * samples + windows
    while True:
        remove_leftovers(database)
        with database.writer.begin() as connection:
            if not database.is_sqlite:  # SQLite has one writer at a time anyway
                connection.execute(select(func.pg_advisory_xact_lock(int(new.digest[:15], 16))))
            if not again and (same := _same(connection, new.digest)):
                return same, False
            if again or not _being_submitted(connection, new.digest):
                complete = open_dataset(connection, dataset) if dataset else True
                small = max(items, 0 if complete or not dataset else len(dataset.tasks)) <= chunks.rows
                _open_job(connection, job, new, dataset.digest if dataset else None, items)
                if dataset and small:
                    if not complete:
                        store_tasks(connection, dataset, 0, len(dataset.tasks))
                    store_items(connection, job, dataset.digest, tasks, 0, tasks * samples)
                store_windows(connection, job, tasks * samples, items)
                if small:
                    _show(connection, job)
                    return job, True
                break
        time.sleep(SAME_SECONDS)  # another process is just storing the same
    try:
        if dataset:
            store_in_chunks(chunks, job, dataset, tasks, samples)
        with database.writer.begin() as connection:
            chunks.touch(connection, job)
            _show(connection, job)
    except BaseException:
        with suppress(Exception):  # the reason for which it failed is the one to tell
            remove_leftovers(database, job)
        raise
    return job, True


def _same(connection: Connection, digest: str) -> str | None:
    return connection.execute(
        select(Job.id)
        .where(Job.digest == digest, Job.state.not_in((JobState.CANCELLED, JobState.CANCELLING, *HIDDEN)))
        .order_by(Job.created_at.desc())
        .limit(1)
    ).scalar()


def _being_submitted(connection: Connection, digest: str) -> bool:
    return bool(
        connection.execute(select(Job.id).where(Job.digest == digest, Job.state == JobState.SUBMITTING)).first()
    )


def _open_job(connection: Connection, job: str, new: NewJob, dataset: str | None, items: int) -> None:
    connection.execute(
        insert(Job).values(
            id=job, kind=new.kind, pool=new.pool, digest=new.digest, spec=new.spec, dataset=dataset,
            benchmark=new.benchmark, formulation=new.formulation, agent=new.agent, items=items, ordered=new.ordered,
            state=JobState.SUBMITTING, waiting="", not_before_at=now() + UNTOUCHED_SECONDS, waits=0,
            project=new.project, submitted_by=new.submitted_by, priority=new.priority, origin=new.origin,
            licence=new.licence,
            split=new.split, seed=new.seed, code_version=new.code_version, created_at=now(),
        )
    )  # fmt: skip


def _show(connection: Connection, job: str) -> None:
    """All of it is stored: from here on it is there for everybody."""
    connection.execute(
        update(Job).where(Job.id == job).values(state=JobState.QUEUED, not_before_at=0.0, created_at=now())
    )


def get_job(connection: Connection, job: str):
    """The job's row. Raises SpecError when there is none; a beginning of an id that only one job has will do."""
    escaped = job.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    named = Job.id.like(f"{escaped}%", escape="\\")
    found = connection.execute(select(Job.__table__).where(named, Job.state.not_in(HIDDEN)).limit(2)).all()
    if len(found) != 1:
        problem = "No job has" if not found else "More than one job has"
        raise SpecError(f"{problem} an id that starts with '{job}'. List them with: lumos jobs")
    return found[0]


def find_job(connection: Connection, job: str):
    """The row of the job with exactly this id; None when it is not there (any more)."""
    return connection.execute(select(Job.__table__).where(Job.id == job, Job.state.not_in(HIDDEN))).first()


def settle(database: Database, job: str) -> str:
    """Finish the job if nothing of it is owed or claimed; returns its state, `removed` for one that is gone.

    In its own transaction, after the last item's: two processes that finish the last two items do not see each other's.
    """
    cancelled = _cancel_most(database, job)
    with database.writer.begin() as connection:
        row = _find(connection, job)
        if row is None:
            return JobState.REMOVED
        state = row.state
        if state == JobState.CANCELLING and not cancelled:
            return state  # since a moment: whoever cancels it is at it, and settles it
        if state == JobState.CANCELLING:  # what its workers gave back will not run either
            connection.execute(update(Item).where(Item.job == job, _OWED).values(state=ItemState.CANCELLED))
        after = _AFTER.get(state)
        if after:
            connection.execute(
                update(Job).where(Job.id == job, *_over()).values(state=after, finished_at=now(), waiting="")
            )
        if state in OPEN:
            say_what_is_left(connection, job)
        return connection.execute(select(Job.state).where(Job.id == job)).scalar_one()


def _over() -> tuple[Any, ...]:
    """Nothing of the job is owed or claimed: two conditions, for each of which there is a small index."""
    return tuple(
        ~exists().where(Item.job == Job.id, Item.state == state) for state in (ItemState.OWED, ItemState.CLAIMED)
    )


def pause(database: Database, job: str) -> str:
    """Stop a job for a while: what is in flight is given back, its steps are kept. Returns the state after."""
    with database.writer.begin() as connection:
        _lock(connection, job)
        connection.execute(
            update(Job)
            .where(Job.id == job, Job.state.in_(OPEN))
            .values(state=JobState.PAUSED, waiting="resumed by a person")
        )
    return settle(database, job)


def cancel(database: Database, job: str) -> str:
    """Stop a job: what is owed will not run, what is running is told by heartbeat. Returns the state after.

    Very many items are cancelled in chunks; where that is cut off, whoever settles the job does the rest.
    """
    with database.writer.begin() as connection:
        if _lock(connection, job).state in (*OPEN, JobState.PAUSED):
            connection.execute(update(Job).where(Job.id == job).values(state=JobState.CANCELLING))
    return settle(database, job)


def _cancel_most(database: Database, job: str) -> bool:
    """Cancel what is owed of a job that is being cancelled, if it is much: then in chunks. Whether it is such a job."""

    def cancelling(connection: Connection) -> bool:
        row = _find(connection, job)
        return row is not None and row.state == JobState.CANCELLING

    chunks = Chunks(database)
    with database.engine.connect() as connection:
        if connection.execute(select(Job.state).where(Job.id == job)).scalar() != JobState.CANCELLING:
            return False
        owed = select(Item.id).where(Item.job == job, _OWED).limit(chunks.rows + 1).subquery()
        much = connection.execute(select(func.count()).select_from(owed)).scalar_one() > chunks.rows
    if much:
        change_items(chunks, job, _OWED, {"state": ItemState.CANCELLED}, cancelling)
    return True


def resume(database: Database, job: str) -> str:
    """Make a job's unfinished items owed again and due at once, and those that infrastructure ended or quarantined.

    Returns the state after. Very many items are owed again in chunks, before the job is open again: where that is cut
    off the job is as incomplete as before, and the next resume does the rest. Raises SpecError when somebody cancels or
    removes it meanwhile.
    """
    chunks = Chunks(database)
    with database.writer.begin() as connection:
        before = _lock(connection, job)
        take_back(connection, job)
        if before.items <= chunks.rows:
            return _open_again(connection, job, before.items)
        if before.state == JobState.CANCELLING:  # or whoever settles it would cancel what is owed again
            connection.execute(
                update(Job).where(Job.id == job).values(state=JobState.PAUSED, waiting="resumed by a person")
            )

    def still(connection: Connection) -> bool:
        state = _lock(connection, job).state
        if state in (JobState.CANCELLING, JobState.CANCELLED) and before.state != JobState.CANCELLED:
            raise SpecError(f"Job {job} was cancelled meanwhile. To go on with it all the same: lumos resume {job}")
        return True

    below = change_items(chunks, job, _UNFINISHED, _OWED_AGAIN, still)
    with database.writer.begin() as connection:
        still(connection)
        return _open_again(connection, job, below)


def _open_again(connection: Connection, job: str, below: int) -> str:
    """Owe the unfinished ones of the items before that ordinal, and open the job if anything of it is left to do."""
    mine = (Item.job == job, Item.ordinal < below)
    connection.execute(update(Item).where(*mine, _UNFINISHED).values(**_OWED_AGAIN))
    connection.execute(
        update(Job)
        .where(Job.id == job, not_(and_(*_over())))
        .values(state=JobState.QUEUED, not_before_at=0.0, waits=0, waiting="", finished_at=None)
    )
    return connection.execute(select(Job.state).where(Job.id == job)).scalar_one()


def remove(database: Database, job: str, with_labels: bool = False) -> None:
    """Delete a job with everything it stored.

    Raises SpecError while it is being worked on and, unless `with_labels`, when people's work would go with it.
    """
    with database.writer.begin() as connection:
        row = _lock(connection, job)
        if row.state in (*OPEN, JobState.CANCELLING):
            raise SpecError(f"Job {job} is {row.state}: cancel it first with: lumos cancel {job}")
        if not with_labels and (found := _work_on(connection, job)):
            raise SpecError(
                f"People have worked on episodes of job {job}: {', '.join(found)}. "
                f"To remove it with all labels and audit places of it: lumos rm {job} --with-labels"
            )
        hide(connection, job)
    remove_rest(database, job)


def _work_on(connection: Connection, job: str) -> list[str]:
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


def _lock(connection: Connection, job: str) -> Any:
    """The job's row, locked before any of its items: everybody takes the two in this order.

    Raises SpecError when somebody removed it meanwhile.
    """
    row = _find(connection, job)
    if row is None:
        raise SpecError(f"Job {job} was removed meanwhile. List the jobs there are with: lumos jobs")
    return row


def _find(connection: Connection, job: str) -> Any:
    return connection.execute(
        select(Job.state, Job.items, Job.dataset).where(Job.id == job, Job.state != JobState.REMOVING).with_for_update()
    ).first()


def runnable(
    database: Database, pools: Iterable[str], older_than: float = 0.0, after: str = "", beside: str = ""
) -> list[str]:
    """Jobs with an item that can be claimed now, the most urgent first, then in the order of their submission.

    Jobs submitted less than `older_than` seconds ago are left out. Among equally urgent ones those submitted later than
    `after` come first, so that each has its turn. With `beside`, only other jobs at least as urgent as that one.
    """
    served = aliased(Job)
    due = exists().where(
        Item.job == Job.id, Item.state == ItemState.OWED, Item.not_before_at <= now(), or_(~Job.ordered, its_turn())
    )
    wanted = [Job.state.in_(OPEN), Job.pool.in_(list(pools)), Job.not_before_at <= now(), due]
    if older_than:
        wanted.append(Job.created_at <= now() - older_than)
    if beside:
        urgency = select(served.priority).where(served.id == beside).scalar_subquery()
        wanted += [Job.id != beside, Job.priority >= urgency]
    order = [Job.priority.desc(), Job.created_at]
    if after:
        submitted = select(served.created_at).where(served.id == after).scalar_subquery()
        order.insert(1, case((Job.created_at > submitted, 0), else_=1))
    with database.engine.connect() as connection:
        return list(connection.execute(select(Job.id).where(*wanted).order_by(*order)).scalars())


def unsettled(database: Database) -> list[str]:
    """Open jobs that have nothing left to do: a process died between its last item and `settle`."""
    claimed = exists().where(Item.job == Job.id, Item.state == ItemState.CLAIMED)
    owed = exists().where(Item.job == Job.id, Item.state == ItemState.OWED)
    over = or_(and_(Job.state.in_(OPEN), ~owed, ~claimed), and_(Job.state == JobState.CANCELLING, ~claimed))
    with database.engine.connect() as connection:
        return list(connection.execute(select(Job.id).where(over)).scalars())


def put_off(database: Database, job: str, reason: str, wait_seconds: float, longest: float = 60.0) -> None:
    """Let nobody start on the job for a while, twice as long each time in a row, and say why."""
    with database.writer.begin() as connection:
        found = connection.execute(
            select(Job.waits, (Job.not_before_at > now()).label("waiting"))
            .where(Job.id == job, Job.state != JobState.REMOVING)
            .with_for_update()
        ).first()
        if found is None or found.waiting:  # it was removed; or others have met the same outage: it is one
            return
        wait = min(wait_seconds * 2.0 ** min(found.waits, 10), longest)
        connection.execute(
            update(Job).where(Job.id == job).values(waiting=reason, waits=found.waits + 1, not_before_at=now() + wait)
        )


def gets_on(database: Database, job: str) -> None:
    """Something of the job was finished: the next time it is put off is again the first."""
    with database.writer.begin() as connection:
        connection.execute(update(Job).where(Job.id == job, Job.waits > 0).values(waits=0))


def begin_work(database: Database, job: str, identities: Sequence[tuple[str, str, dict]]) -> None:
    """Note that a slice starts on the job: what it waited for has come, and who its endpoints say they are."""
    with database.writer.begin() as connection:
        if _find(connection, job) is None:  # removed meanwhile: the slice finds nothing to claim
            return
        connection.execute(
            update(Job)
            .where(Job.id == job, Job.state == JobState.QUEUED)
            .values(state=JobState.RUNNING, started_at=func.coalesce(Job.started_at, now()))
        )
        connection.execute(update(Job).where(Job.id == job, Job.waiting != "").values(waiting=""))
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


def progress(connection: Connection, job: str) -> dict[str, int]:
    """How many items of the job are in each state."""
    rows = connection.execute(select(Item.state, func.count()).where(Item.job == job).group_by(Item.state))
    return dict(rows.all())


def count_endings(connection: Connection, job: str) -> dict[str, int]:
    """How many finished episodes of the job ended in each way."""
    rows = connection.execute(
        select(EpisodeRow.ending, func.count())
        .where(EpisodeRow.job == job, EpisodeRow.ending != "")
        .group_by(EpisodeRow.ending)
    )
    return dict(rows.all())


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
