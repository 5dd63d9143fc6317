"""Read the live worker sessions, the items that they hold, their traffic, and the rejected messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select

from db.engine.connection import now
from db.engine.lease import Lease
from db.engine.whole_rows import read_rows
from db.kinds.states import HIDDEN, ItemState
from db.models import Heartbeat, Item, JobRow, RefusedMessage, WorkerSessionRow
from lumos_queue.endpoints.traffic import Traffic


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A worker process that has reported within the lease."""

    id: int
    host: str
    pid: int
    code_version: str
    started_at: float
    pools: str  #: that it was started for (db/kinds/pools.py)
    gpus: int | None
    gpu_mib: int | None
    silent_seconds: float  #: since its last heartbeat
    items: int  #: that it holds
    calls: dict[str, list[float]]  #: traffic of each endpoint, as of its last heartbeat


def live_sessions(connection: Connection, lease: Lease) -> list[LiveSession]:
    """Return the worker processes that reported within the lease, each with the number of items that it holds."""
    item_count = (
        select(func.count())
        .where(Item.session == WorkerSessionRow.id, Item.state == ItemState.CLAIMED)
        .scalar_subquery()
    )
    statement = (
        select(
            WorkerSessionRow.id,
            WorkerSessionRow.host,
            WorkerSessionRow.pid,
            WorkerSessionRow.code_version,
            WorkerSessionRow.started_at,
            WorkerSessionRow.pools,
            WorkerSessionRow.gpus,
            WorkerSessionRow.gpu_mib,
            case((Heartbeat.at > now(), 0.0), else_=now() - Heartbeat.at).label("silent_seconds"),
            item_count.label("items"),
            Heartbeat.calls,
        )
        .join(Heartbeat, Heartbeat.session == WorkerSessionRow.id)
        .where(lease.is_alive())
        .order_by(WorkerSessionRow.id)
    )
    return [LiveSession(*row) for row in connection.execute(statement)]


def jobs_held(connection: Connection) -> dict[int, dict[str, int]]:
    """Return the number of items that each worker session holds of each job. Sessions without items are left out."""
    rows = connection.execute(
        select(Item.session, Item.job, func.count())
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.state == ItemState.CLAIMED, Item.session.is_not(None), JobRow.state.not_in(HIDDEN))
        .group_by(Item.session, Item.job)
        .order_by(Item.session, Item.job)
    )
    items_by_session: dict[int, dict[str, int]] = {}
    for session, job, items in rows:
        items_by_session.setdefault(int(session or 0), {})[job] = items
    return items_by_session


def traffic_of(sessions: Iterable[LiveSession]) -> dict[str, Traffic]:
    """Return the traffic of these worker sessions by endpoint, from their last heartbeats.

    Endpoints that run in the worker's own process (`local:`, `scripted:`) have no traffic.
    """
    reports: dict[str, list[Traffic]] = {}
    for session in sessions:
        for url, values in session.calls.items():
            reports.setdefault(url, []).append(Traffic.read(values))
    return {url: Traffic.sum(reports[url]) for url in sorted(reports)}


def list_refused_messages(connection: Connection) -> list[RefusedMessage]:
    """Return the counts of the broker's messages that were dropped unread, by reason."""
    query = select(RefusedMessage.__table__).order_by(RefusedMessage.reason)
    return read_rows(connection, RefusedMessage, query)
