"""Divide an endpoint's cap, which limits the requests of all workers together, into shares of the processes.

With each heartbeat a process reports how many requests it wants in flight, and gets the number that it may have. The
smallest demands are met first (max-min fairness). The rest of the cap is divided evenly, so that a process that gets
work a moment later need not wait. A process never gets a part of the cap that another process still uses: a share
becomes smaller only when requests end, and a dead process keeps its share until it is declared dead. So the requests in
flight never exceed the cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from db.engine.connection import Database
from db.models import EndpointCap, EndpointShare, WorkerSessionRow
from db.queue.web_actions import PersonAction
from lumos_queue.endpoints.traffic import Traffic


class Cap(NamedTuple):
    """The maximum number of requests that an endpoint may have in flight, over all workers, and its present use."""

    url: str
    requests: int
    held: int  #: requests that worker processes may have in flight
    workers: int  #: processes that hold a share
    is_stated: bool  #: whether the endpoint's servers state the cap, and no person has set it


#: The cap that holds: a person's, or else that of the servers.
EFFECTIVE = func.coalesce(EndpointCap.requests, EndpointCap.stated)


def set_cap(database: Database, url: str, requests: int | None, action: PersonAction | None = None) -> None:
    """Set the cap of the endpoint at `url` to `requests` in flight, over all workers. None removes the cap.

    `action` is recorded with the change.
    """
    with database.writer.begin() as connection:
        if action:
            action.record(connection, f"{requests:,} requests" if requests else "removed")
        _set(connection, url, requests=requests)
        connection.execute(
            delete(EndpointCap).where(
                EndpointCap.url == url, EndpointCap.requests.is_(None), EndpointCap.stated.is_(None)
            )
        )


def _set(connection: Connection, url: str, **values: int | None) -> None:
    if not connection.execute(update(EndpointCap).where(EndpointCap.url == url).values(values)).rowcount:
        connection.execute(insert(EndpointCap).values(url=url, **values))


def list_caps(connection: Connection) -> list[Cap]:
    """Return every cap, in the order of the endpoints' URLs."""
    rows = connection.execute(
        select(EndpointCap.url, EFFECTIVE.label("cap"), EndpointCap.requests).order_by(EndpointCap.url)
    ).all()
    shares = connection.execute(select(EndpointShare.url, EndpointShare.held)).all()
    held_shares = {row.url: [share.held for share in shares if share.url == row.url] for row in rows}
    return [
        Cap(row.url, row.cap, sum(held_shares[row.url]), len(held_shares[row.url]), row.requests is None)
        for row in rows
    ]


def lease_shares(
    connection: Connection, session: int, traffic: Mapping[str, Traffic], capacities: Mapping[str, int]
) -> dict[str, int | None]:
    """Return how many requests this process may have in flight at each endpoint; None for an endpoint without a cap.

    `capacities`: how many concurrent requests an endpoint's servers state that they process. The caller is the
    transaction of a heartbeat.
    """
    stored_capacities = (
        dict(
            connection.execute(select(EndpointCap.url, EndpointCap.stated).where(EndpointCap.url.in_(capacities))).all()
        )
        if capacities
        else {}
    )
    for url, requests in sorted(capacities.items()):
        if stored_capacities.get(url) != requests:
            _set(connection, url, stated=requests)
    # The rows are locked in a fixed order, so that heartbeats never deadlock.
    rows = (
        select(EndpointCap.url, EFFECTIVE.label("cap"))
        .where(EndpointCap.url.in_(traffic))
        .order_by(EndpointCap.url)
        .with_for_update()
    )
    caps = {row.url: row.cap for row in connection.execute(rows)} if traffic else {}
    connection.execute(
        delete(EndpointShare).where(EndpointShare.session == session, EndpointShare.url.not_in(list(caps)))
    )
    return {
        url: _lease(connection, session, url, caps[url], use.in_flight, use.in_flight + use.waiting)
        if url in caps
        else None
        for url, use in traffic.items()
    }


def _lease(connection: Connection, session: int, url: str, cap: int, in_flight: int, demand: int) -> int:
    rows = connection.execute(
        select(EndpointShare.session, EndpointShare.demand, EndpointShare.share, EndpointShare.held)
        .join(WorkerSessionRow, WorkerSessionRow.id == EndpointShare.session)
        .where(EndpointShare.url == url, WorkerSessionRow.ended_at.is_(None))
    ).all()
    other_rows = [row for row in rows if row.session != session]
    demands = {row.session: row.demand for row in other_rows} | {session: demand}
    free = max(0, cap - sum(row.held for row in other_rows))
    share = min(fair_shares(cap, demands)[session], free)
    # Until this answer arrives, the process may still fill the share that it had.
    before = next((row.share for row in rows if row.session == session), 0)
    values = {"demand": demand, "share": share, "held": max(share, before, in_flight)}
    conditions = (EndpointShare.session == session, EndpointShare.url == url)
    if not connection.execute(update(EndpointShare).where(*conditions).values(values)).rowcount:
        connection.execute(insert(EndpointShare).values(session=session, url=url, **values))
    return share


def fair_shares(cap: int, demands: Mapping[int, int]) -> dict[int, int]:
    """Divide all of `cap` by max-min fairness (D. Bertsekas, R. Gallager: Data Networks, 1992, section 6.5.2)."""
    shares, remaining = dict.fromkeys(demands, 0), cap
    for count, session in enumerate(sorted(demands, key=lambda number: (demands[number], number))):
        shares[session] = min(demands[session], remaining // (len(demands) - count))
        remaining -= shares[session]
    for index, session in enumerate(sorted(demands)):
        shares[session] += remaining // len(demands) + (index < remaining % len(demands))
    return shares
