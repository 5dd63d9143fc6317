"""Failed items of jobs that will be retried, grouped by the text of their latest failure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, func, literal_column, select

from db.engine.connection import now
from db.kinds.states import ItemState
from db.models import Item

MAX_GROUPS = 20  #: of a job, the largest ones
TRIED_AGAIN = (ItemState.OWED, ItemState.CLAIMED)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Items of one job whose latest failures have the same text."""

    job: str
    text: str  #: its first characters, as the server or the plug-in has sent it
    items: int
    running: int  #: those that are tried at this moment
    seconds: float | None  #: until the first of the waiting items is due; negative if it is due; None if no item waits
    total: int  #: items of the job that failed, in all of its groups


def failure_groups(connection: Connection, jobs: Collection[str], characters: int) -> list[FailureGroup]:
    """Return the largest groups of each of these jobs, largest first. One query reads the failed items only.

    `characters`: the length of each text's beginning that is compared and returned.
    """
    text, items = func.substr(Item.problem, 1, characters).label("text"), func.count().label("items")
    running_items = func.count().filter(Item.state == ItemState.CLAIMED).label("running")
    due_at = func.min(Item.not_before_at).filter(Item.state == ItemState.OWED).label("due_at")
    # A literal, because the partial index of failed items is not used for a parameter.
    conditions = Item.job.in_(jobs), Item.state.in_(TRIED_AGAIN), Item.problem != literal_column("''")
    groups = select(Item.job, text, items, running_items, due_at).where(*conditions).group_by(Item.job, text).subquery()
    columns = groups.c
    rank = func.row_number().over(partition_by=columns.job, order_by=(columns["items"].desc(), columns.text))
    total = func.sum(columns["items"]).over(partition_by=columns.job)
    ranking = select(groups, rank.label("rank"), total.label("total")).subquery()
    rows = connection.execute(
        select(ranking, (ranking.c.due_at - now()).label("seconds"))
        .where(ranking.c.rank <= MAX_GROUPS)
        .order_by(ranking.c.job, ranking.c.rank)
    )
    return [
        FailureGroup(job, text, int(items), int(running), None if seconds is None else float(seconds), int(total))
        for job, text, items, running, _due_at, _rank, total, seconds in rows
    ]
