"""Leasing shares of an endpoint's cap, which holds over all workers.

Each process says with its heartbeat how many requests it would have in flight, and is told how many it may. Demands
are met fairly from the smallest up (max-min fairness), and what is left is given out evenly, so that a process that
finds work a moment later need not wait. No process gets what another still holds: a share shrinks only as its requests
end, and a dead process keeps its share until it is declared dead. So what is in flight never exceeds the cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from db.connection import Database
from db.models import EndpointCap, EndpointShare, WorkerSessionRow


def set_cap(database: Database, url: str, requests: int | None) -> None:
    """Let the endpoint at `url` have at most so many requests in flight, over all workers; None: no cap."""
    with database.writer.begin() as connection:
        connection.execute(delete(EndpointCap).where(EndpointCap.url == url))
        if requests is not None:
            connection.execute(insert(EndpointCap).values(url=url, requests=requests))


def list_caps(connection: Connection) -> list[Any]:
    """Every cap with the sum of what is held of it and the number of processes that hold some."""
    caps = connection.execute(select(EndpointCap.__table__).order_by(EndpointCap.url)).all()
    shares = connection.execute(select(EndpointShare.url, EndpointShare.held)).all()
    held = {cap.url: [share.held for share in shares if share.url == cap.url] for cap in caps}
    return [(cap.url, cap.requests, sum(held[cap.url]), len(held[cap.url])) for cap in caps]


def lease_shares(connection: Connection, session: int, traffic: Mapping[str, tuple[int, int]]) -> dict[str, int | None]:
    """What this process may have in flight at each endpoint; None where there is no cap.

    `traffic` holds (requests in flight, requests wanted) by URL. Called inside the transaction of a heartbeat.
    """
    # Locked in one order, so that heartbeats never deadlock.
    wanted = select(EndpointCap.__table__).where(EndpointCap.url.in_(traffic)).order_by(EndpointCap.url)
    caps = {row.url: row.requests for row in connection.execute(wanted.with_for_update())} if traffic else {}
    connection.execute(
        delete(EndpointShare).where(EndpointShare.session == session, EndpointShare.url.not_in(list(caps)))
    )
    return {url: _lease(connection, session, url, caps[url], *traffic[url]) if url in caps else None for url in traffic}


def _lease(connection: Connection, session: int, url: str, cap: int, in_flight: int, demand: int) -> int:
    rows = connection.execute(
        select(EndpointShare.session, EndpointShare.demand, EndpointShare.share, EndpointShare.held)
        .join(WorkerSessionRow, WorkerSessionRow.id == EndpointShare.session)
        .where(EndpointShare.url == url, WorkerSessionRow.ended_at.is_(None))
    ).all()
    others = [row for row in rows if row.session != session]
    demands = {row.session: row.demand for row in others} | {session: demand}
    free = max(0, cap - sum(row.held for row in others))
    share = min(fair_shares(cap, demands)[session], free)
    # Until this answer reaches it the process may still fill the share it had.
    before = next((row.share for row in rows if row.session == session), 0)
    values = {"demand": demand, "share": share, "held": max(share, before, in_flight)}
    mine = (EndpointShare.session == session, EndpointShare.url == url)
    if not connection.execute(update(EndpointShare).where(*mine).values(values)).rowcount:
        connection.execute(insert(EndpointShare).values(session=session, url=url, **values))
    return share


def fair_shares(cap: int, demands: Mapping[int, int]) -> dict[int, int]:
    """`cap` divided by max-min fairness (D. Bertsekas, R. Gallager: Data Networks, 1992, section 6.5.2), all of it."""
    shares, left = dict.fromkeys(demands, 0), cap
    for done, session in enumerate(sorted(demands, key=lambda one: (demands[one], one))):
        shares[session] = min(demands[session], left // (len(demands) - done))
        left -= shares[session]
    for place, session in enumerate(sorted(demands)):
        shares[session] += left // len(demands) + (place < left % len(demands))
    return shares
