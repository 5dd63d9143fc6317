"""Items that wait for a person, and their job's note about them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, exists, func, select, update
from sqlalchemy.orm import aliased

from db.engine.time_conditions import ITEM_WAIT_SECONDS, is_due
from db.kinds.states import OPEN, ItemState
from db.models import Approval, Attempt, Item, JobRow
from db.queue.wait_reasons import HOW


def is_open() -> ColumnElement[bool]:
    """Return the condition that a row of `approval` has no answer and belongs to the episode's newest attempt."""
    later = aliased(Attempt)
    is_replaced = exists().where(later.episode == Approval.episode, later.number > Approval.attempt)
    return (Approval.answer == "") & ~is_replaced


def is_unanswered(connection: Connection, episode: int) -> bool:
    """Whether an episode still waits for an answer."""
    return (
        connection.execute(select(Approval.position).where(Approval.episode == episode, is_open())).first() is not None
    )


def describe_awaiting(plans: int, job: str) -> str:
    """Return the note of a job that waits until people have answered this many plans."""
    return f"{plans:,} {'plan waits' if plans == 1 else 'plans wait'} for approval: {HOW} {job}"


def note_awaiting(connection: Connection, job: str) -> None:
    """Write into the job's row that all its remaining items wait for a person, if so, unless it has another note."""
    of_job = Item.job == job
    busy = exists().where(of_job, Item.state == ItemState.CLAIMED) | exists().where(
        of_job, Item.state == ItemState.OWED, is_due(Item.not_before_at, ITEM_WAIT_SECONDS)
    )
    plans = connection.execute(select(func.count()).where(of_job, Item.state == ItemState.AWAITING, ~busy)).scalar_one()
    if plans:
        statement = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN), JobRow.waiting == "")
        connection.execute(statement.values(waiting=describe_awaiting(plans, job)))


def clear_awaiting(connection: Connection, job: str) -> None:
    """Update the job's note after an answer: remove it, or count the plans that still wait."""
    statement = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN), JobRow.waiting.contains(HOW))
    connection.execute(statement.values(waiting=""))
    note_awaiting(connection, job)
