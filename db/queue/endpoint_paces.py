"""Read the pace of endpoints that worker processes have measured. A new process begins with its share of the pace."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, select

from db.engine.connection import now
from db.engine.lease import Lease
from db.engine.time_conditions import is_recent
from db.models import Heartbeat, WorkerSessionRow
from lumos_queue.endpoints.pace import FORGET_SECONDS
from lumos_queue.endpoints.traffic import Traffic


def read_paces(connection: Connection, urls: Collection[str], lease: Lease) -> dict[str, tuple[float, float]]:
    """Return (initial window of a new process, seconds of a reply) of each endpoint, from heartbeats of the last hour.

    An endpoint can serve the sum of the windows of the processes that used it last, within one lease. The living
    processes and the new process share this sum. Endpoints without a report are left out.
    """
    rows = connection.execute(
        select(Heartbeat.at, Heartbeat.calls, WorkerSessionRow.ended_at, now().label("now"))
        .join(WorkerSessionRow, WorkerSessionRow.id == Heartbeat.session)
        .where(is_recent(Heartbeat.at, FORGET_SECONDS))
    ).all()
    paces: dict[str, tuple[float, float]] = {}
    for url in urls:
        reports = [(row, Traffic.read(row.calls[url])) for row in rows if url in (row.calls or {})]
        reports = [(row, traffic) for row, traffic in reports if traffic.window]
        if not reports:
            continue
        newest = max(row.at for row, _ in reports)
        recent = [(row, traffic) for row, traffic in reports if not lease.is_silent(row.at, newest)]
        alive = sum(row.ended_at is None and not lease.is_silent(row.at, row.now) for row, _ in recent)
        whole = Traffic.sum(traffic for _, traffic in recent)
        paces[url] = max(1.0, whole.window / (alive + 1)), whole.reply_seconds
    return paces
