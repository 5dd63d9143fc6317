"""Claim the items that a process works on next, with their recorded steps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    TextClause,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.orm import aliased

from db.engine.bulk import Writes, compile_sql
from db.engine.connection import numbers
from db.engine.rows.episodes import NewEpisode
from db.engine.rows.steps import NewAttempt
from db.engine.time_conditions import ITEM_WAIT_SECONDS, is_due
from db.journal.step_records import RecordedStep, load_steps
from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState
from db.models import Attempt, Item, TaskRow
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Task

# Made once, because building a statement costs more than sending it.
_LARGEST_BATCH = select(func.max(Item.batch)).where(
    Item.job == bindparam("job"),
    Item.state == ItemState.OWED,
    Item.batch > bindparam("busy"),
    is_due(Item.not_before_at, ITEM_WAIT_SECONDS),
)
_ATTEMPTS = (
    select(Attempt.episode, Attempt.number, Attempt.code_version)
    .where(Attempt.episode.op("IN")(numbers(bindparam("episodes"))))
    .order_by(Attempt.episode, Attempt.number)
)
_TASKS = select(TaskRow.id, TaskRow.dataset, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold).where(
    TaskRow.id.op("IN")(numbers(bindparam("keys")))
)

_DUE = is_due(literal_column("i.not_before_at", Float), ITEM_WAIT_SECONDS)


@dataclass(frozen=True, slots=True)
class LeaseHolder:
    """A worker session at work on one job, for which it claims items and writes steps."""

    session: int
    code_version: str
    job: StoredJob


class _ClaimedRow(NamedTuple):
    """What the UPDATE that claims an item returns."""

    id: int
    ordinal: int
    claim: int
    batch: int
    failures: int
    sample: int
    task: int | None


@dataclass(frozen=True, slots=True)
class ClaimedItem:
    """An item that this process holds until it finishes the item, gives it back or dies."""

    id: int
    ordinal: int
    claim: int
    batch: int  #: of a suspect: how many items may run together; 0: not a suspect
    failures: int  #: rounds of tries that have failed
    sample: int
    task: Task | None
    attempt: int
    code_version: str  #: of the code that began the attempt
    steps: tuple[RecordedStep, ...]  #: what an earlier holder recorded


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """The number and kind of items that a process asks for."""

    items: int  #: at most so many
    busy: int = 0  #: items that it works on already
    suspects: bool = False  #: whether those are suspects
    after: int = -1  #: ordinal after which to look first: where its last claim ended


NO_CLAIM = ClaimRequest(0)


def claim_items(connection: Connection, holder: LeaseHolder, request: ClaimRequest) -> list[ClaimedItem]:
    """Claim items of the holder's job that are due. Items that have failed come after the others.

    Suspects are items that a dead process held. They never run beside other items. A process that works on suspects
    claims further suspects, a process that works on other items claims no suspects, and an idle process claims suspects
    only when no other item is due. So a job whose processes keep dying finishes its other items first.
    """
    rows: list[_ClaimedRow] = []
    if not (request.busy and request.suspects):
        # The search begins where the last claim ended: while a transaction holds an old snapshot, PostgreSQL keeps
        # an index entry for every item that is done, and each claim would read all of them.
        rows = _claim(connection, holder, request.items, after=request.after)
        if not rows and request.after >= 0:
            rows = _claim(connection, holder, request.items)
        rows = rows or _claim(connection, holder, request.items, has_failures=True)
    if not rows and (request.suspects or not request.busy):
        rows = _claim_suspects(connection, holder, request)
    if not rows:
        return []
    attempts: dict[int, tuple[int, str]] = {}
    if holder.job.kind != JobKind.TRAIN:
        _open_episodes(connection, holder, [row for row in rows if row.claim == 1])
        attempts = _newest_attempts(connection, [row.id for row in rows if row.claim > 1])
    steps = load_steps(connection, {item: number for item, (number, _) in attempts.items()}) if attempts else {}
    tasks = _tasks(connection, holder.job.benchmark, [row.task for row in rows if row.task is not None])
    return [
        ClaimedItem(
            row.id,
            row.ordinal,
            row.claim,
            row.batch,
            row.failures,
            row.sample,
            None if row.task is None else tasks.get(row.task),
            *attempts.get(row.id, (1, holder.code_version)),
            tuple(steps.get(row.id, ())),
        )
        for row in sorted(rows, key=lambda row: row.ordinal)
    ]


def its_turn() -> ColumnElement[bool]:
    """Return a condition on the item of the enclosing query: the preceding item of its job is done."""
    before = aliased(Item)
    return ~exists().where(before.job == Item.job, before.ordinal == Item.ordinal - 1, before.state != ItemState.DONE)


@cache
def _claim_statement(dialect: str, is_ordered: bool, has_failures: bool) -> TextClause:
    """Return the UPDATE that claims items.

    PostgreSQL gets `= ANY(ARRAY(…))`, because it may evaluate IN (SELECT … SKIP LOCKED) twice, with different rows.
    """
    due = (
        f"SELECT i.id FROM item AS i WHERE i.job = :job AND i.state = '{ItemState.OWED}' AND i.batch = :batch "
        f"AND i.ordinal > :after AND i.failures {'>' if has_failures else '='} 0 AND ({compile_sql(dialect, _DUE)}) "
    )
    if is_ordered:
        due += (
            "AND NOT EXISTS (SELECT 1 FROM item AS before WHERE before.job = i.job "
            f"AND before.ordinal = i.ordinal - 1 AND before.state <> '{ItemState.DONE}') "
        )
    due += "ORDER BY i.ordinal LIMIT :items"
    selection = f"= ANY(ARRAY({due} FOR UPDATE SKIP LOCKED))" if dialect == "postgresql" else f"IN ({due})"
    return text(
        f"UPDATE item SET state = '{ItemState.CLAIMED}', claim = claim + 1, session = :session WHERE id {selection} "
        "RETURNING id, ordinal, claim, batch, failures, sample, task"
    )


def _claim(
    connection: Connection,
    holder: LeaseHolder,
    items: int,
    *,
    batch: int = 0,
    after: int = -1,
    has_failures: bool = False,
) -> list[_ClaimedRow]:
    job = holder.job
    limit = 1 if job.ordered else items
    values = {"job": job.id, "batch": batch, "after": after, "session": holder.session, "items": limit}
    statement = _claim_statement(connection.dialect.name, bool(job.ordered), has_failures)
    return [_ClaimedRow(*row) for row in connection.execute(statement, values)]


def _claim_suspects(connection: Connection, holder: LeaseHolder, request: ClaimRequest) -> list[_ClaimedRow]:
    """Claim suspects of the largest batch size, until as many run at once as that size allows."""
    values = {"job": holder.job.id, "busy": request.busy}
    batch = connection.execute(_LARGEST_BATCH, values).scalar()
    if not batch:
        return []
    items = min(request.items, batch - request.busy)
    return _claim(connection, holder, items, batch=batch) or _claim(
        connection, holder, items, batch=batch, has_failures=True
    )


def _open_episodes(connection: Connection, holder: LeaseHolder, first: list[_ClaimedRow]) -> None:
    """Write an episode and its first attempt for each of these items, which are claimed for the first time."""
    job = holder.job
    episodes: list[NewEpisode] = []
    for row in first:
        assert row.task is not None, "an item without a task is no episode"
        episodes.append(
            NewEpisode(
                row.id,
                job.id,
                row.task,
                row.sample,
                job.formulation,
                job.agent,
                job.origin,
                job.split,
                job.licence,
            )
        )
    with Writes(connection) as writes:
        writes.insert(NewEpisode, episodes)
        writes.insert(NewAttempt, [NewAttempt(row.id, 1, holder.code_version) for row in first])


def _newest_attempts(connection: Connection, episodes: list[int]) -> dict[int, tuple[int, str]]:
    """Return (number, code version) of the newest attempt of each episode."""
    rows = connection.execute(_ATTEMPTS, {"episodes": json.dumps(episodes)}) if episodes else ()
    return {episode: (number, code_version) for episode, number, code_version in rows}  # the newest come last


def _tasks(connection: Connection, benchmark: str, keys: list[int]) -> dict[int, Task]:
    rows = connection.execute(_TASKS, {"keys": json.dumps(keys)}) if keys else ()
    return {row.id: Task(benchmark, row.dataset, row.row, row.question, row.inputs, row.gold) for row in rows}
