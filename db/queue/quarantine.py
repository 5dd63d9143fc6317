"""What happens to the items of a dead process: they are suspects, are retried, and may be quarantined.

Any of these items may have killed the process, so all are suspects. They run again in batches of half the size, and at
last each runs alone. A death counts against an item only if the item was alone. So a few deaths identify one harmful
item among thousands, and processes that are killed from outside rarely lead to quarantine. A machine that keeps killing
processes (too little memory, a service that restarts) may still hit the same item several times. So an item is retried
after longer and longer waits before it is quarantined.
"""

from __future__ import annotations

from sqlalchemy import Connection, exists, func, select, update

from db.engine.connection import now
from db.engine.time_conditions import ITEM_WAIT_SECONDS, is_due, now_after
from db.kinds.states import OPEN, ItemState, JobState
from db.models import EndpointShare, Item, JobRow, WorkerSessionRow
from db.queue.claims import its_turn
from db.queue.sums import add_ended
from lumos_queue.util.wording import format_clock

AT_ONCE = 2  #: deaths after which an item is retried at once
WAITS = (60.0, 300.0, ITEM_WAIT_SECONDS)  #: seconds before the retry after each further death
DEATHS = AT_ONCE + len(WAITS) + 1  #: processes that may die of an item before it is quarantined


def close_sessions(connection: Connection, sessions: list[int], by: str, has_died: bool) -> None:
    """End sessions, and make their items pending again; the items are suspects if the processes died.

    A session that has ended keeps the time of its end, and who ended it.
    """
    if not sessions:
        return
    # A commit of the same process may be under way. It holds the fence, for which an update alone would not wait. The
    # items that it claims have to be given back as well.
    connection.execute(
        select(WorkerSessionRow.id)
        .where(WorkerSessionRow.id.in_(sessions))
        .order_by(WorkerSessionRow.id)
        .with_for_update()
    )
    connection.execute(
        update(WorkerSessionRow)
        .where(WorkerSessionRow.id.in_(sessions), WorkerSessionRow.ended_at.is_(None))
        .values(ended_at=now_after(WorkerSessionRow.started_at), ended_by=by)
    )
    connection.execute(EndpointShare.__table__.delete().where(EndpointShare.session.in_(sessions)))
    held_items = (Item.session.in_(sessions), Item.state == ItemState.CLAIMED)
    if not has_died:
        connection.execute(update(Item).where(*held_items).values(state=ItemState.OWED, session=None))
        return
    jobs = list(connection.execute(select(Item.job).where(*held_items).distinct()).scalars())
    counts = connection.execute(select(Item.session, func.count()).where(*held_items).group_by(Item.session)).all()
    for session, items in counts:
        of_session = (Item.session == session, Item.state == ItemState.CLAIMED)
        if items == 1:
            _charge(connection, session)
        connection.execute(
            update(Item).where(*of_session).values(state=ItemState.OWED, session=None, batch=(items + 1) // 2)
        )
    for job in jobs:
        update_waiting(connection, job)


def _charge(connection: Connection, session: int | None) -> None:
    """Count a death against the only item of a session. The item is retried at once, later, or quarantined.

    This depends on the number of its deaths.
    """
    of_session = (Item.session == session, Item.state == ItemState.CLAIMED)
    connection.execute(update(Item).where(*of_session).values(deaths=Item.deaths + 1))
    item = connection.execute(select(Item.id, Item.job, Item.ordinal, Item.deaths).where(*of_session)).one()
    if item.deaths <= AT_ONCE:
        return
    if item.deaths < DEATHS:
        problem = f"{item.deaths} processes died while this was all they worked on; quarantined after {DEATHS}"
        step: int = item.deaths - AT_ONCE - 1
        due = now() + WAITS[step]
        connection.execute(update(Item).where(Item.id == item.id).values(not_before_at=due, problem=problem))
        return
    problem = f"quarantined: {item.deaths} processes died while this was all they worked on"
    connection.execute(
        update(Item).where(Item.id == item.id).values(state=ItemState.QUARANTINED, session=None, problem=problem)
    )
    # Under the dead session, because no other process writes its rows.
    add_ended(connection, item.job, session or 0, {ItemState.QUARANTINED: 1})
    # In an ordered job the next items wait for this one, so a person has to decide.
    connection.execute(
        update(JobRow)
        .where(JobRow.id == item.job, JobRow.ordered, JobRow.state.in_(OPEN))
        .values(
            state=JobState.PAUSED, waiting=f"item {item.ordinal} {problem}; try again with: lumos resume {item.job}"
        )
    )


def update_waiting(connection: Connection, job: str) -> None:
    """If no item of the job can be claimed before one that waits after several deaths, note this in the job's row."""
    conditions = [Item.job == job, Item.state == ItemState.OWED]
    if connection.execute(select(JobRow.ordered).where(JobRow.id == job)).scalar():
        conditions.append(its_turn())
    due = exists().where(*conditions, is_due(Item.not_before_at, ITEM_WAIT_SECONDS))
    is_claimed = exists().where(Item.job == job, Item.state == ItemState.CLAIMED)
    next_item = (
        select(Item.ordinal, Item.deaths, Item.not_before_at)
        .where(*conditions, Item.deaths > AT_ONCE, ~due, ~is_claimed)
        .order_by(Item.not_before_at)
        .limit(1)
    )
    if row := connection.execute(next_item).first():
        reason = (
            f"item {row.ordinal}: {row.deaths} processes died while this was all they worked on; "
            f"it is tried again at {format_clock(row.not_before_at)} (quarantined after {DEATHS})"
        )
        is_open = JobRow.state.in_(OPEN)
        connection.execute(update(JobRow).where(JobRow.id == job, is_open).values(waiting=reason))
