"""Claiming: which items a process works on next, with all that is recorded of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, func, insert, select, update
from sqlalchemy.orm import aliased

from db.connection import now
from db.journal import RecordedStep, load_steps
from db.models import Attempt, EpisodeRow, Item, TaskRow
from lumos_queue.records import Task


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claims and writes: a worker session at work on one job."""

    session: int
    code_version: str
    job: Any  #: the job's row


@dataclass(frozen=True, slots=True)
class Claimed:
    """An item this process now holds, until it finishes it, gives it back or dies."""

    id: int
    ordinal: int
    claim: int
    batch: int  #: 0, or a suspect: it may only run with so many items in all
    sample: int
    task: Task | None
    attempt: int
    steps: tuple[RecordedStep, ...]  #: what an earlier holder recorded


@dataclass(frozen=True, slots=True)
class Wish:
    """What a process would take on."""

    items: int  #: at most so many
    busy: int = 0  #: beside so many that it works on already
    suspects: bool = False  #: whether those are suspects
    after: int = -1  #: ordinal after which to look first: where its last claim ended


NOTHING = Wish(0)


def claim_items(connection: Connection, holder: Holder, wish: Wish) -> list[Claimed]:
    """Claim items of the holder's job.

    Suspects, which some dead process held, never run beside other items: a process that works on `busy` items claims
    more of their kind, and an idle one suspects only when nothing else is due. So a job whose processes keep dying
    gets its other items done first.
    """
    job, keys = holder.job, []
    if not (wish.busy and wish.suspects):
        # Where the last claim ended, not at the beginning: while somebody holds an old snapshot, PostgreSQL keeps an
        # index entry for every item that is done, and each claim would walk over all of them.
        keys = _due(connection, job, (Item.batch == 0) & (Item.ordinal > wish.after), wish.items)
        if not keys and wish.after >= 0:
            keys = _due(connection, job, Item.batch == 0, wish.items)
    if not keys and (wish.suspects or not wish.busy):
        keys = _due_suspects(connection, job, wish)
    if not keys:
        return []
    connection.execute(
        update(Item).where(Item.id.in_(keys)).values(state="claimed", claim=Item.claim + 1, session=holder.session)
    )
    wants_episodes = job.kind != "train"
    if wants_episodes:
        _open_episodes(connection, holder, keys)
    return _read_claimed(connection, job.benchmark, keys, wants_episodes)


def _due(connection: Connection, job: Any, fit: Any, wanted: int) -> list[int]:
    due = select(Item.id).where(Item.job == job.id, Item.state == "owed", fit, Item.not_before_at <= now())
    if job.ordered:
        before = aliased(Item)
        due = due.where(
            ~exists().where(and_(before.job == job.id, before.ordinal == Item.ordinal - 1, before.state != "done"))
        )
        wanted = 1
    due = due.order_by(Item.ordinal).limit(wanted).with_for_update(skip_locked=True, of=Item.__table__)
    return list(connection.execute(due).scalars())


def _due_suspects(connection: Connection, job: Any, wish: Wish) -> list[int]:
    """Suspects whose batch has room, those of one batch size at a time, from the largest down."""
    waiting = (Item.job == job.id, Item.state == "owed", Item.batch > wish.busy, Item.not_before_at <= now())
    batch = connection.execute(select(func.max(Item.batch)).where(*waiting)).scalar()
    return _due(connection, job, Item.batch == batch, min(wish.items, batch - wish.busy)) if batch else []


def _open_episodes(connection: Connection, holder: Holder, keys: list[int]) -> None:
    """Write the episode and its first attempt for items claimed the first time."""
    job = holder.job
    first = select(Item).where(Item.id.in_(keys), Item.claim == 1).subquery()
    origin = "converted" if job.kind == "convert" else "run"
    names = ["id", "job", "task", "sample", "formulation", "agent", "origin", "split", "licence", "attempt", "ending",
             "message", "calls", "prompt_tokens", "completion_tokens", "seconds", "started_at"]  # fmt: skip
    values = select(
        first.c.id, first.c.job, first.c.task, first.c.sample, bindparam("formulation", job.formulation),
        bindparam("agent", job.agent), bindparam("origin", origin), bindparam("split", job.split),
        bindparam("licence", job.licence), bindparam("one", 1), bindparam("ending", ""), bindparam("message", ""),
        bindparam("zero", 0), bindparam("zero2", 0), bindparam("zero3", 0), bindparam("none", 0.0), now(),
    )  # fmt: skip
    connection.execute(insert(EpisodeRow).from_select(names, values))
    connection.execute(
        insert(Attempt).from_select(
            ["episode", "number", "code_version", "started_at"],
            select(first.c.id, bindparam("one", 1), bindparam("version", holder.code_version), now()),
        )
    )


def _read_claimed(connection: Connection, benchmark: str, keys: list[int], episodes: bool) -> list[Claimed]:
    rows = connection.execute(
        select(Item.id, Item.ordinal, Item.claim, Item.batch, Item.sample, TaskRow.row, TaskRow.question,
               TaskRow.inputs, TaskRow.gold, TaskRow.dataset)
        .outerjoin(TaskRow, TaskRow.id == Item.task)
        .where(Item.id.in_(keys))
        .order_by(Item.ordinal)
    ).all()  # fmt: skip
    again = [row.id for row in rows if row.claim > 1] if episodes else []
    attempts = {}
    if again:
        newest = select(Attempt.episode, func.max(Attempt.number)).where(Attempt.episode.in_(again))
        attempts = dict(connection.execute(newest.group_by(Attempt.episode)).all())
    steps = load_steps(connection, attempts) if attempts else {}
    return [
        Claimed(
            row.id,
            row.ordinal,
            row.claim,
            row.batch,
            row.sample,
            _task(benchmark, row),
            attempts.get(row.id, 1),
            tuple(steps.get(row.id, ())),
        )
        for row in rows
    ]


def _task(benchmark: str, row: Any) -> Task | None:
    if row.row is None:
        return None
    return Task(benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
