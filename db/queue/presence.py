"""Read the live worker processes and the jobs of their items, by two small queries, whatever the size of the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from db.engine.lease import Lease
from db.kinds.states import ItemState
from db.models import Heartbeat, Item, WorkerSessionRow


class PresentSession(NamedTuple):
    """A worker process that has reported within the lease."""

    id: int
    pools: str
    gpus: int | None


@dataclass(frozen=True, slots=True)
class Presence:
    """The worker processes that reported within the lease."""

    sessions: Sequence[PresentSession]
    held: Mapping[str, int]  #: items that they hold, by job; items of silent processes do not count

    @property
    def workers(self) -> int:
        return len(self.sessions)


def read_presence(connection: Connection, lease: Lease) -> Presence:
    """Read the processes that are alive by the database's clock, and their items.

    A process that is silent for longer than the lease has lost its items, even if no other process has noticed yet.
    """
    alive = (
        select(WorkerSessionRow.id, WorkerSessionRow.pools, WorkerSessionRow.gpus)
        .join(Heartbeat, Heartbeat.session == WorkerSessionRow.id)
        .where(lease.is_alive())
    )
    sessions = [PresentSession(*row) for row in connection.execute(alive)]
    query = (
        select(Item.job, func.count())
        .where(Item.session.in_([session.id for session in sessions]), Item.state == ItemState.CLAIMED)
        .group_by(Item.job)
    )
    return Presence(sessions, dict(connection.execute(query).all()) if sessions else {})
