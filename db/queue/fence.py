"""Worker sessions: a process's presence, its heartbeat, and the fence that keeps a dead one from writing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update

from db.engine.connection import Database, now
from db.engine.lease import SilenceWatch
from db.kinds.pools import POOLS, Gpus, write_pools
from db.kinds.states import JobState
from db.models import Heartbeat, JobRow, WorkerSessionRow
from db.queue.quarantine import close_sessions
from db.queue.shares import lease_shares
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import InfrastructureError

_FENCE = (
    select(WorkerSessionRow.ended_at)
    .where(WorkerSessionRow.id == bindparam("session"))
    .with_for_update(key_share=True, read=True)
)
_HEARTBEATS = (
    select(Heartbeat.session, Heartbeat.at, now().label("clock"))
    .join(WorkerSessionRow, WorkerSessionRow.id == Heartbeat.session)
    .where(WorkerSessionRow.ended_at.is_(None))
)


class Fenced(InfrastructureError):
    """Raised when this process was declared dead. It may not write, because other processes may claim its items."""


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The database's reply to a heartbeat."""

    states: dict[str, str]  #: of the jobs being worked on, which may be cancelled, paused or removed
    shares: dict[str, int | None]  #: requests this process may have in flight, by endpoint; None: no cap


def start_session(database: Database, code_version: str, pools: Sequence[str] = POOLS, gpus: Gpus | None = None) -> int:
    """Register this process in the database; return the number of its worker session.

    `pools`: the pools that the process was started for. `gpus`: its GPUs; None until it has looked for them.
    """
    with database.writer.begin() as connection:
        session = connection.execute(
            insert(WorkerSessionRow)
            .values(
                host=socket.gethostname(),
                pid=os.getpid(),
                code_version=code_version,
                started_at=now(),
                ended_by="",
                pools=write_pools(pools),
                gpus=gpus and gpus.number,
                gpu_mib=gpus and gpus.mib,
            )
            .returning(WorkerSessionRow.id)
        ).scalar_one()
        connection.execute(insert(Heartbeat).values(session=session, at=now()))
        return session


def record_gpus(database: Database, session: int, gpus: Gpus) -> None:
    """Store which GPUs the process of a session has."""
    with database.writer.begin() as connection:
        statement = update(WorkerSessionRow).where(WorkerSessionRow.id == session)
        connection.execute(statement.values(gpus=gpus.number, gpu_mib=gpus.mib))


def end_session(database: Database, session: int, has_died: bool = False) -> None:
    """End the session. Its items are pending again at once; they are suspects if its process `has_died`."""
    with database.writer.begin() as connection:
        close_sessions(connection, [session], "itself", has_died)


def beat(
    database: Database,
    session: int,
    jobs: list[str],
    traffic: Mapping[str, Traffic],
    capacities: Mapping[str, int] = MappingProxyType({}),
    earlier_traffic: Mapping[str, Traffic] = MappingProxyType({}),
) -> HeartbeatReply:
    """Report that this process is alive, and its traffic with endpoints, by URL.

    `traffic`: with endpoints of the present slice. `earlier_traffic`: with endpoints of earlier slices. `capacities`:
    how many concurrent requests an endpoint's servers can process, if the servers state this.

    Raises Fenced when the process was declared dead.
    """
    with database.writer.begin() as connection:
        calls = {url: list(use) for url, use in {**earlier_traffic, **traffic}.items()}
        connection.execute(update(Heartbeat).where(Heartbeat.session == session).values(at=now(), calls=calls))
        if (
            connection.execute(select(WorkerSessionRow.ended_at).where(WorkerSessionRow.id == session)).scalar()
            is not None
        ):
            raise Fenced(f"worker session {session} was declared dead")
        states: dict[str, str] = dict.fromkeys(jobs, JobState.REMOVED)
        if jobs:
            states |= dict(connection.execute(select(JobRow.id, JobRow.state).where(JobRow.id.in_(jobs))).all())
        return HeartbeatReply(states, lease_shares(connection, session, traffic, capacities))


def hold_fence(connection: Connection, session: int) -> None:
    """Lock the session's row. Every write transaction of a worker begins with this. Raises Fenced if the session ended.

    On PostgreSQL this is a key-share lock: until the transaction ends, no process can declare the session dead.
    """
    row = connection.execute(_FENCE, {"session": session}).first()
    if row is None or row.ended_at is not None:
        raise Fenced(f"worker session {session} was declared dead")


def reap(database: Database, session: int, watch: SilenceWatch) -> list[int]:
    """Declare dead every session that `watch` reports as silent; return their numbers.

    Their items are pending again, as suspects. A session that is in a transaction has locked its row, so it is skipped,
    and declared dead by a later call.
    """
    with database.engine.connect() as connection:  # a cheap look first: most of the time no session is dead
        start_time = watch.start()
        rows = connection.execute(_HEARTBEATS).all()
    heartbeats = {row.session: row.at for row in rows}
    silent = watch.look(heartbeats, rows[0].clock, start_time) if rows else []
    if not silent:
        return []
    with database.writer.begin() as connection:
        is_unchanged = or_(
            *(and_(Heartbeat.session == number, Heartbeat.at == heartbeats[number]) for number in silent)
        )
        rows = (
            select(WorkerSessionRow.id)
            .join(Heartbeat, Heartbeat.session == WorkerSessionRow.id)
            .where(WorkerSessionRow.ended_at.is_(None), is_unchanged)
            .with_for_update(of=WorkerSessionRow.__table__, skip_locked=True)
        )
        dead = list(connection.execute(rows).scalars())
        close_sessions(connection, dead, f"session {session}", has_died=True)
        return dead
