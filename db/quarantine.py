"""What becomes of the items that a dead process held.

Any of them may have killed it, so all are suspects. Suspects run again in batches of half the size, at last alone, and
only a death while alone counts against an item. So one poisonous item among thousands is found in a few deaths, and
processes that are killed from outside put no item into quarantine. A machine that keeps killing (too little memory, a
service that restarts) may still hit the same item three times: it is tried again, after longer and longer waits,
before it is put into quarantine.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection, exists, func, select, update

from db.claims import its_turn
from db.connection import now
from db.models import EndpointShare, Item, JobRow, WorkerSessionRow
from db.states import OPEN, ItemState, JobState
from db.sums import add_ended
from db.time_conditions import ITEM_WAIT_SECONDS, is_due, now_after

AT_ONCE = 2  #: deaths after which an item is tried again at once
WAITS = (60.0, 300.0, ITEM_WAIT_SECONDS)  #: seconds before it is tried again after each further one
DEATHS = AT_ONCE + len(WAITS) + 1  #: processes that may die of an item before it is quarantined


def close_sessions(connection: Connection, sessions: list[int], by: str, died: bool) -> None:
    """End sessions and give their items back; as suspects, if the processes died."""
    if not sessions:
        return
    # A commit of the same process may be under way. It holds the fence, which an update alone would not wait for; what
    # it claims has to be given back as well.
    connection.execute(
        select(WorkerSessionRow.id)
        .where(WorkerSessionRow.id.in_(sessions))
        .order_by(WorkerSessionRow.id)
        .with_for_update()
    )
    connection.execute(
        update(WorkerSessionRow)
        .where(WorkerSessionRow.id.in_(sessions))
        .values(ended_at=now_after(WorkerSessionRow.started_at), ended_by=by)
    )
    connection.execute(EndpointShare.__table__.delete().where(EndpointShare.session.in_(sessions)))
    held = (Item.session.in_(sessions), Item.state == ItemState.CLAIMED)
    if not died:
        connection.execute(update(Item).where(*held).values(state=ItemState.OWED, session=None))
        return
    jobs = list(connection.execute(select(Item.job).where(*held).distinct()).scalars())
    counts = connection.execute(select(Item.session, func.count()).where(*held).group_by(Item.session)).all()
    for session, items in counts:
        mine = (Item.session == session, Item.state == ItemState.CLAIMED)
        if items == 1:
            _charge(connection, session)
        connection.execute(update(Item).where(*mine).values(state=ItemState.OWED, session=None, batch=(items + 1) // 2))
    for job in jobs:
        update_waiting(connection, job)


def _charge(connection: Connection, session: int | None) -> None:
    """One more death for the only item of a session: tried again at once, then later, then quarantined."""
    mine = (Item.session == session, Item.state == ItemState.CLAIMED)
    connection.execute(update(Item).where(*mine).values(deaths=Item.deaths + 1))
    fatal = connection.execute(select(Item.id, Item.job, Item.ordinal, Item.deaths).where(*mine)).one()
    if fatal.deaths <= AT_ONCE:
        return
    if fatal.deaths < DEATHS:
        problem = f"{fatal.deaths} processes died while this was all they worked on; quarantined after {DEATHS}"
        due = now() + WAITS[fatal.deaths - AT_ONCE - 1]
        connection.execute(update(Item).where(Item.id == fatal.id).values(not_before_at=due, problem=problem))
        return
    problem = f"quarantined: {fatal.deaths} processes died while this was all they worked on"
    connection.execute(
        update(Item).where(Item.id == fatal.id).values(state=ItemState.QUARANTINED, session=None, problem=problem)
    )
    # Under the dead session, whose rows nobody else writes any more.
    add_ended(connection, fatal.job, session or 0, {ItemState.QUARANTINED: 1})
    # What comes after an item of an ordered job waits for it: a person has to decide.
    connection.execute(
        update(JobRow)
        .where(JobRow.id == fatal.job, JobRow.ordered, JobRow.state.in_(OPEN))
        .values(
            state=JobState.PAUSED, waiting=f"item {fatal.ordinal} {problem}; try again with: lumos resume {fatal.job}"
        )
    )


def update_waiting(connection: Connection, job: str) -> None:
    """Note at the job when all that could be claimed of it is an item that waits after so many deaths."""
    mine = [Item.job == job, Item.state == ItemState.OWED]
    if connection.execute(select(JobRow.ordered).where(JobRow.id == job)).scalar():
        mine.append(its_turn())
    due = exists().where(*mine, is_due(Item.not_before_at, ITEM_WAIT_SECONDS))
    claimed = exists().where(Item.job == job, Item.state == ItemState.CLAIMED)
    next_one = (
        select(Item.ordinal, Item.deaths, Item.not_before_at)
        .where(*mine, Item.deaths > AT_ONCE, ~due, ~claimed)
        .order_by(Item.not_before_at)
        .limit(1)
    )
    if found := connection.execute(next_one).first():
        at = time.strftime("%H:%M:%S", time.gmtime(found.not_before_at))
        waiting = (
            f"item {found.ordinal}: {found.deaths} processes died while this was all they worked on; "
            f"it is tried again at {at} UTC (quarantined after {DEATHS})"
        )
        is_open = JobRow.state.in_(OPEN)
        connection.execute(update(JobRow).where(JobRow.id == job, is_open).values(waiting=waiting))
