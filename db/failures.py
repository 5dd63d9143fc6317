"""How many episodes of a job infrastructure ended, by class, and which."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, func, select

from db.endings import TAKEN_BACK
from db.failure_classes import FailureClass, classify
from db.models import EpisodeRow, Item
from db.states import ItemState


def count_failures(connection: Connection, job: str) -> dict[FailureClass, int]:
    """How many items of the job infrastructure ended, by class, the commonest first."""
    failed = select(EpisodeRow.message, func.count()).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    found: Counter[FailureClass] = Counter()
    for message, episodes in connection.execute(failed.group_by(EpisodeRow.message)):
        found[classify(message)] += episodes
    died = select(func.count()).where(Item.job == job, Item.state == ItemState.QUARANTINED)
    found[FailureClass.DIED] += connection.execute(died).scalar_one()
    order = tuple(FailureClass)
    ranked = sorted(found.items(), key=lambda one: (-one[1], order.index(one[0])))
    return {kind: count for kind, count in ranked if count}


def failed_items(connection: Connection, job: str, wanted: FailureClass) -> list[int]:
    """The items (their keys) of the job whose episodes ended in a failure of that class."""
    failed = select(EpisodeRow.id, EpisodeRow.message).where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK)
    return [item for item, message in connection.execute(failed) if classify(message) == wanted]
