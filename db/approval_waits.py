"""Items that wait for a person: which do, and what their job says of them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, exists, func, select, update
from sqlalchemy.orm import aliased

from db.models import Approval, Attempt, Item, JobRow
from db.states import OPEN, ItemState
from db.time_conditions import ITEM_WAIT_SECONDS, is_due
from db.wait_reasons import HOW


def is_open() -> ColumnElement[bool]:
    """Of a row of `approval`: whether it has no answer, and belongs to the episode's newest attempt."""
    later = aliased(Attempt)
    replaced = exists().where(later.episode == Approval.episode, later.number > Approval.attempt)
    return (Approval.answer == "") & ~replaced


def is_unanswered(connection: Connection, episode: int) -> bool:
    """Whether an episode still waits for an answer."""
    return (
        connection.execute(select(Approval.position).where(Approval.episode == episode, is_open())).first() is not None
    )


def describe_awaiting(plans: int, job: str) -> str:
    """What a job waits for, in words."""
    return f"{plans:,} {'plan waits' if plans == 1 else 'plans wait'} for approval: {HOW} {job}"


def note_awaiting(connection: Connection, job: str) -> None:
    """Note at the job that all that is left of it waits for a person, unless something else is noted there."""
    mine = Item.job == job
    busy = exists().where(mine, Item.state == ItemState.CLAIMED) | exists().where(
        mine, Item.state == ItemState.OWED, is_due(Item.not_before_at, ITEM_WAIT_SECONDS)
    )
    plans = connection.execute(select(func.count()).where(mine, Item.state == ItemState.AWAITING, ~busy)).scalar_one()
    if plans:
        quiet = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN), JobRow.waiting == "")
        connection.execute(quiet.values(waiting=describe_awaiting(plans, job)))


def clear_awaiting(connection: Connection, job: str) -> None:
    """An answer has come: say how many are still waited for, if all that is left of the job does."""
    noted = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN), JobRow.waiting.contains(HOW))
    connection.execute(noted.values(waiting=""))
    note_awaiting(connection, job)
