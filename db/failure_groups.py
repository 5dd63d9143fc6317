"""Items of jobs that failed and will be tried again, grouped by what was said of the latest failure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, func, literal_column, select

from db.connection import now
from db.models import Item
from db.states import ItemState

MAX_GROUPS = 20  #: of a job, the largest ones
TRIED_AGAIN = (ItemState.OWED, ItemState.CLAIMED)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Items of one job whose latest failures have the same text."""

    job: str
    text: str  #: its first characters, as the server or the plug-in has sent it
    items: int
    running: int  #: those that are tried at this moment
    seconds: float | None  #: until the first of the others is due; negative when it is; None without others
    total: int  #: items of the job that failed, in all of its groups


def failure_groups(connection: Connection, jobs: Collection[str], characters: int) -> list[FailureGroup]:
    """The largest groups of each of these jobs, the largest first: one query, which reads the failed items only.

    `characters`: how much of each text is compared and returned.
    """
    text, items = func.substr(Item.problem, 1, characters).label("text"), func.count().label("items")
    running = func.count().filter(Item.state == ItemState.CLAIMED).label("running")
    due_at = func.min(Item.not_before_at).filter(Item.state == ItemState.OWED).label("due_at")
    # A literal, not a parameter: the partial index of failed items is chosen for it alone.
    failed = Item.job.in_(jobs), Item.state.in_(TRIED_AGAIN), Item.problem != literal_column("''")
    groups = select(Item.job, text, items, running, due_at).where(*failed).group_by(Item.job, text).subquery()
    columns = groups.c
    rank = func.row_number().over(partition_by=columns.job, order_by=(columns["items"].desc(), columns.text))
    total = func.sum(columns["items"]).over(partition_by=columns.job)
    ranked = select(groups, rank.label("rank"), total.label("total")).subquery()
    rows = connection.execute(
        select(ranked, (ranked.c.due_at - now()).label("seconds"))
        .where(ranked.c.rank <= MAX_GROUPS)
        .order_by(ranked.c.job, ranked.c.rank)
    )
    return [
        FailureGroup(
            row.job,
            row.text,
            int(row._mapping["items"]),
            int(row.running),
            None if row.seconds is None else float(row.seconds),
            int(row.total),
        )
        for row in rows
    ]
