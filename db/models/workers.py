"""The tables of worker processes: their sessions, their shares of endpoints, and messages that were refused."""

from __future__ import annotations

from sqlalchemy import BigInteger
from sqlmodel import Field

from db.models.base import Base, Mapped, instant, json, key, long_text, refers


class WorkerSessionRow(Base, table=True):
    """A worker process that runs or ran. The row is its fence: each write transaction of the process locks it first."""

    __tablename__ = "worker_session"
    id: Mapped[int] = key()
    host: Mapped[str]
    pid: Mapped[int]
    code_version: Mapped[str]
    started_at: Mapped[float] = instant(nullable=False)
    ended_at: Mapped[float | None] = instant()
    ended_by: Mapped[str] = Field(default="")  # itself, or the session that found it silent
    pools: Mapped[str]  # that it was started for, separated by commas (db/kinds/pools.py)
    gpus: Mapped[int | None]  # that it can use; NULL: it has not looked for them yet
    gpu_mib: Mapped[int | None]  # memory of the smallest of them in MiB; 0 without a GPU


class Heartbeat(Base, table=True):
    """The time of a process's latest report. It has its own table: write transactions lock the session's row."""

    __tablename__ = "heartbeat"
    session: Mapped[int] = refers("worker_session.id", primary_key=True, autoincrement=False)
    at: Mapped[float] = instant(nullable=False)
    # Traffic of each endpoint as of this heartbeat (lumos_queue/endpoints/traffic.py)
    calls: Mapped[dict[str, list[float]]] = json()


class EndpointCap(Base, table=True):
    """How many requests an endpoint may have in flight, over all workers. An endpoint without a row has no cap.

    A cap that a person has set replaces the number that the endpoint's servers state.
    """

    __tablename__ = "endpoint_cap"
    url: Mapped[str] = Field(primary_key=True)
    requests: Mapped[int | None]  # the cap that a person set
    stated: Mapped[int | None]  # requests that keep the servers busy, as they state their slots


class EndpointShare(Base, table=True):
    """The part of an endpoint's cap that a worker process holds, leased to it with each heartbeat."""

    __tablename__ = "endpoint_share"
    session: Mapped[int] = refers("worker_session.id", primary_key=True, autoincrement=False)
    url: Mapped[str] = Field(primary_key=True)
    demand: Mapped[int]  # requests in flight and waiting, as of its last heartbeat
    share: Mapped[int]  # requests that it may have in flight
    held: Mapped[int]  # requests that it may still have in flight: not available to other processes


class RefusedMessage(Base, table=True):
    """Messages of the broker that were thrown away unread, counted by reason."""

    __tablename__ = "refused_message"
    reason: Mapped[str] = Field(primary_key=True)
    messages: Mapped[int] = Field(sa_type=BigInteger)
    latest: Mapped[str] = long_text()  # details of the latest message
    latest_at: Mapped[float] = instant(nullable=False)
