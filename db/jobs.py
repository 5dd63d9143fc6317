"""Jobs: submitting one, looking one up, and the changes of its state. Each change is one compare-and-swap."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, case, delete, exists, func, insert, literal, not_, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import aliased

from db.connection import Database, now
from db.endings import take_back
from db.models import AuditSample, Dataset, EpisodeRow, Item, Job, JobEndpoint, Label, TaskRow
from db.rows import insert_rows
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.storable import storable_json

#: Letters and digits that are not mistaken for one another.
_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
OPEN = ("queued", "running")


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


@dataclass(frozen=True, slots=True)
class NewDataset:
    """The rows a job works on."""

    digest: str
    benchmark: str
    split: str
    licence: str
    tasks: Sequence[Task]


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
    """Write rows, job and items in one transaction; returns the job's id and whether it is new.

    Items are (task, sample) for the first `limit` rows of the dataset (0: all), sample by sample, or `windows` without
    a task. A job of the same content that was not cancelled is returned instead, unless `again`.
    """
    job = new_id()
    with database.writer.begin() as connection:
        if not database.is_sqlite:  # SQLite has one writer at a time anyway
            connection.execute(select(func.pg_advisory_xact_lock(int(new.digest[:15], 16))))
        if not again and (same := _same(connection, new.digest)):
            return same, False
        tasks = 0
        if dataset:
            _store_dataset(connection, dataset)
            tasks = min(limit, len(dataset.tasks)) if limit else len(dataset.tasks)
        connection.execute(
            insert(Job).values(
                id=job, kind=new.kind, pool=new.pool, digest=new.digest, spec=new.spec,
                dataset=dataset.digest if dataset else None, benchmark=new.benchmark, formulation=new.formulation,
                agent=new.agent, items=tasks * samples + windows, ordered=new.ordered, state="queued", waiting="",
                not_before_at=0.0, waits=0, project=new.project, submitted_by=new.submitted_by, priority=new.priority,
                origin=new.origin, licence=new.licence, split=new.split, seed=new.seed, code_version=new.code_version,
                created_at=now(),
            )
        )  # fmt: skip
        if dataset:
            _store_items(connection, job, dataset.digest, tasks, samples)
        rows = [(job, number, 0, "owed", 0, 0.0, 0, 0, 0, "") for number in range(windows)]
        columns = ("job", "ordinal", "sample", "state", "claim", "not_before_at", "failures", "deaths", "batch",
                   "problem")  # fmt: skip
        insert_rows(connection, Item.__table__, columns, rows)
    return job, True


def _same(connection: Connection, digest: str) -> str | None:
    return connection.execute(
        select(Job.id)
        .where(Job.digest == digest, Job.state.not_in(("cancelled", "cancelling")))
        .order_by(Job.created_at.desc())
        .limit(1)
    ).scalar()


def _store_dataset(connection: Connection, dataset: NewDataset) -> None:
    row = (dataset.digest, dataset.benchmark, dataset.split, dataset.licence, len(dataset.tasks))
    columns = ("digest", "benchmark", "split", "licence", "rows")
    if not insert_rows(connection, Dataset.__table__, columns, [row], stamp="created_at"):
        return
    columns = ("dataset", "ordinal", "row", "question", "inputs", "gold")
    for start in range(0, len(dataset.tasks), 1000):
        rows = [
            (dataset.digest, start + offset, task.row, task.question, storable_json(dict(task.inputs)),
             storable_json(task.gold))
            for offset, task in enumerate(dataset.tasks[start : start + 1000])
        ]  # fmt: skip
        insert_rows(connection, TaskRow.__table__, columns, rows)


def _store_items(connection: Connection, job: str, dataset: str, tasks: int, samples: int) -> None:
    columns = ["job", "ordinal", "task", "sample", "state", "claim", "not_before_at", "failures", "deaths", "batch",
               "problem"]  # fmt: skip
    for sample in range(samples):
        wanted = (
            select(literal(job), TaskRow.ordinal + sample * tasks, TaskRow.id, literal(sample), literal("owed"),
                   literal(0), literal(0.0), literal(0), literal(0), literal(0), literal(""))
            .where(TaskRow.dataset == dataset, TaskRow.ordinal < tasks)
            .order_by(TaskRow.ordinal)
        )  # fmt: skip
        connection.execute(insert(Item).from_select(columns, wanted))


def get_job(connection: Connection, job: str):
    """The job's row. Raises SpecError when there is none; a beginning of an id that only one job has will do."""
    escaped = job.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    found = connection.execute(select(Job.__table__).where(Job.id.like(f"{escaped}%", escape="\\")).limit(2)).all()
    if len(found) != 1:
        problem = "No job has" if not found else "More than one job has"
        raise SpecError(f"{problem} an id that starts with '{job}'. List them with: lumos jobs")
    return found[0]


def settle(database: Database, job: str) -> str:
    """Finish the job if nothing of it is owed or claimed; returns its state.

    In its own transaction, after the last item's: two processes that finish the last two items do not see each other's.
    """
    with database.writer.begin() as connection:
        state = _lock(connection, job).state
        if state == "cancelling":  # what its workers gave back will not run either
            _cancel_owed(connection, job)
        after = {"queued": "done", "running": "done", "paused": "done", "cancelling": "cancelled"}.get(state)
        if after:
            connection.execute(
                update(Job).where(Job.id == job, *_over()).values(state=after, finished_at=now(), waiting="")
            )
        return connection.execute(select(Job.state).where(Job.id == job)).scalar_one()


def _over() -> tuple[Any, ...]:
    """Nothing of the job is owed or claimed: two conditions, for each of which there is a small index."""
    return tuple(~exists().where(Item.job == Job.id, Item.state == state) for state in ("owed", "claimed"))


def pause(database: Database, job: str) -> str:
    """Stop a job for a while: what is in flight is given back, its steps are kept. Returns the state after."""
    with database.writer.begin() as connection:
        _lock(connection, job)
        connection.execute(
            update(Job).where(Job.id == job, Job.state.in_(OPEN)).values(state="paused", waiting="resumed by a person")
        )
    return settle(database, job)


def cancel(database: Database, job: str) -> str:
    """Stop a job: what is owed will not run, what is running is told by heartbeat. Returns the state after."""
    with database.writer.begin() as connection:
        if _lock(connection, job).state in (*OPEN, "paused"):
            connection.execute(update(Job).where(Job.id == job).values(state="cancelling"))
            _cancel_owed(connection, job)
    return settle(database, job)


def resume(database: Database, job: str) -> str:
    """Make a job's unfinished items owed again and due at once, and those that infrastructure ended or quarantined.

    Returns the state after.
    """
    with database.writer.begin() as connection:
        _lock(connection, job)
        take_back(connection, job)
        connection.execute(
            update(Item)
            .where(Item.job == job, Item.state.in_(("cancelled", "owed", "quarantined")))
            .values(state="owed", not_before_at=0.0, deaths=0)
        )
        connection.execute(
            update(Job)
            .where(Job.id == job, not_(and_(*_over())))
            .values(state="queued", not_before_at=0.0, waits=0, waiting="", finished_at=None)
        )
        return connection.execute(select(Job.state).where(Job.id == job)).scalar_one()


def remove(database: Database, job: str, with_labels: bool = False) -> None:
    """Delete a job with everything it stored.

    Raises SpecError while it is being worked on and, unless `with_labels`, when people's work would go with it.
    """
    with database.writer.begin() as connection:
        row = _lock(connection, job)
        if row.state in (*OPEN, "cancelling"):
            raise SpecError(f"Job {job} is {row.state}: cancel it first with: lumos cancel {job}")
        if not with_labels and (found := _work_on(connection, job)):
            raise SpecError(
                f"People have worked on episodes of job {job}: {', '.join(found)}. "
                f"To remove it with all labels and audit places of it: lumos rm {job} --with-labels"
            )
        connection.execute(delete(Job).where(Job.id == job))
        # A dataset that another job has begun to use meanwhile stays: only that deletion is taken back.
        with suppress(IntegrityError), connection.begin_nested():
            used = exists().where(Job.dataset == Dataset.digest)
            connection.execute(delete(Dataset).where(Dataset.digest == row.dataset, ~used))


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
    """The job's row, locked before any of its items: everybody takes the two in this order."""
    return connection.execute(select(Job.state, Job.dataset).where(Job.id == job).with_for_update()).one()


def _cancel_owed(connection: Connection, job: str) -> None:
    connection.execute(update(Item).where(Item.job == job, Item.state == "owed").values(state="cancelled"))


def runnable(
    database: Database, pools: Iterable[str], older_than: float = 0.0, after: str = "", beside: str = ""
) -> list[str]:
    """Jobs with an item that can be claimed now, the most urgent first, then in the order of their submission.

    Jobs submitted less than `older_than` seconds ago are left out. Among equally urgent ones those submitted later than
    `after` come first, so that each has its turn. With `beside`, only other jobs at least as urgent as that one.
    """
    before, served = aliased(Item), aliased(Job)
    its_turn = ~exists().where(before.job == Job.id, before.ordinal == Item.ordinal - 1, before.state != "done")
    due = exists().where(
        Item.job == Job.id, Item.state == "owed", Item.not_before_at <= now(), or_(~Job.ordered, its_turn)
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
    claimed = exists().where(Item.job == Job.id, Item.state == "claimed")
    owed = exists().where(Item.job == Job.id, Item.state == "owed")
    over = or_(and_(Job.state.in_(OPEN), ~owed, ~claimed), and_(Job.state == "cancelling", ~claimed))
    with database.engine.connect() as connection:
        return list(connection.execute(select(Job.id).where(over)).scalars())


def put_off(database: Database, job: str, reason: str, wait_seconds: float, longest: float = 60.0) -> None:
    """Let nobody start on the job for a while, twice as long each time in a row, and say why."""
    with database.writer.begin() as connection:
        found = connection.execute(
            select(Job.waits, (Job.not_before_at > now()).label("waiting")).where(Job.id == job).with_for_update()
        ).one()
        if found.waiting:  # others have met the same outage: it is one
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
        connection.execute(
            update(Job)
            .where(Job.id == job, Job.state == "queued")
            .values(state="running", started_at=func.coalesce(Job.started_at, now()))
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
