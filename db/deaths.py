"""What becomes of the items that a dead process held.

Any of them may have killed it, so all are suspects. Suspects run again in batches of half the size, at last alone, and
only a death while alone counts against an item. So one poisonous item among thousands is found in a few deaths, and
processes that are killed from outside cost no item its place.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, select, update

from db.connection import now
from db.models import EndpointShare, Item, Job, WorkerSession

DEATHS = 3  #: processes that may die of an item before it is quarantined


def bury(connection: Connection, sessions: list[int], by: str, died: bool) -> None:
    """End sessions and give their items back; as suspects, if the processes died."""
    if not sessions:
        return
    # A commit of the same process may be under way. It holds the fence, which an update alone would not wait for; what
    # it claims has to be given back as well.
    connection.execute(
        select(WorkerSession.id).where(WorkerSession.id.in_(sessions)).order_by(WorkerSession.id).with_for_update()
    )
    connection.execute(update(WorkerSession).where(WorkerSession.id.in_(sessions)).values(ended_at=now(), ended_by=by))
    connection.execute(EndpointShare.__table__.delete().where(EndpointShare.session.in_(sessions)))
    held = (Item.session.in_(sessions), Item.state == "claimed")
    if not died:
        connection.execute(update(Item).where(*held).values(state="owed", session=None))
        return
    counts = connection.execute(select(Item.session, func.count()).where(*held).group_by(Item.session)).all()
    for session, items in counts:
        mine = (Item.session == session, Item.state == "claimed")
        if items == 1:
            _charge(connection, session)
        connection.execute(update(Item).where(*mine).values(state="owed", session=None, batch=(items + 1) // 2))


def _charge(connection: Connection, session: int | None) -> None:
    """One death more for the only item of a session; quarantine after the last it may have."""
    mine = (Item.session == session, Item.state == "claimed")
    connection.execute(update(Item).where(*mine).values(deaths=Item.deaths + 1))
    fatal = connection.execute(select(Item.id, Item.job, Item.ordinal, Item.deaths).where(*mine)).one()
    if fatal.deaths < DEATHS:
        return
    problem = f"quarantined: {fatal.deaths} processes died while this was all they worked on"
    connection.execute(
        update(Item).where(Item.id == fatal.id).values(state="quarantined", session=None, problem=problem)
    )
    # What comes after an item of an ordered job waits for it: a person has to decide.
    connection.execute(
        update(Job)
        .where(Job.id == fatal.job, Job.ordered, Job.state.in_(("queued", "running")))
        .values(state="paused", waiting=f"item {fatal.ordinal} {problem}; try again with: lumos resume {fatal.job}")
    )
