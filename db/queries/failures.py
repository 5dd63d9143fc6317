"""Find a job's items that failures of infrastructure ended, by class of failure."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, func, select

from db.kinds.failure_classes import FailureClass, classify
from db.kinds.states import ItemState
from db.models import EpisodeRow, Item
from db.queue.endings import TAKEN_BACK


def count_failures(connection: Connection, job: str) -> dict[FailureClass, int]:
    """Count the job's items that failures of infrastructure ended, by class, the most frequent class first."""
    query = select(EpisodeRow.message, func.count()).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    counts: Counter[FailureClass] = Counter()
    for message, episodes in connection.execute(query.group_by(EpisodeRow.message)):
        counts[classify(message)] += episodes
    quarantine_query = select(func.count()).where(Item.job == job, Item.state == ItemState.QUARANTINED)
    counts[FailureClass.DIED] += connection.execute(quarantine_query).scalar_one()
    order = tuple(FailureClass)
    ranking = sorted(counts.items(), key=lambda pair: (-pair[1], order.index(pair[0])))
    return {kind: count for kind, count in ranking if count}


def find_failed_items(connection: Connection, job: str, failure_class: FailureClass) -> list[int]:
    """Return the keys of the job's items whose episodes ended by a failure of that class."""
    query = select(EpisodeRow.id, EpisodeRow.message).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    return [item for item, message in connection.execute(query) if classify(message) == failure_class]
