"""Read the loads of endpoints, and which open jobs use these endpoints or wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queries.open_jobs import OpenJob, list_open_jobs
from db.queue.sessions import LiveSession, traffic_of
from db.queue.shares import list_caps
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.live.waits import is_silent
from lumos_queue.settings import Settings
from workers.describe import roles_of

IN_PROCESS = ("local:", "scripted:")  #: endpoints that run in the worker itself: no calls of them are in flight


@dataclass(frozen=True, slots=True)
class Load:
    """The calls to an endpoint from all workers together, and its cap."""

    url: str
    traffic: Traffic
    cap: int | None


@dataclass(slots=True)
class OpenWork:
    """The open jobs by endpoint, and those that wait."""

    jobs: dict[str, list[str]] = field(default_factory=dict)  #: ids by endpoint, in the order of the jobs
    waiting: list[OpenJob] = field(default_factory=list)  #: jobs that wait
    has_more: bool = False  #: whether there are further jobs


def read_loads(
    connection: Connection, urls: Iterable[str], sessions: Sequence[LiveSession], settings: Settings
) -> list[Load]:
    """Return the loads of those of these endpoints that are servers."""
    caps = {cap.url: cap.requests for cap in list_caps(connection)}
    calls = traffic_of(session for session in sessions if not is_silent(session, settings))
    server_urls = (url for url in dict.fromkeys(urls) if not url.startswith(IN_PROCESS))
    return [Load(url, calls.get(url, Traffic()), caps.get(url)) for url in server_urls]


def read_open_work(connection: Connection, limit: int) -> OpenWork:
    """Return the endpoints and the waits of at most `limit` open jobs, the newest first."""
    jobs, has_more = list_open_jobs(connection, limit)
    work = OpenWork(has_more=has_more)
    for job in jobs:
        for url in dict.fromkeys(roles_of(job.spec).values()):
            if not url.startswith(IN_PROCESS):
                work.jobs.setdefault(url, []).append(job.id)
        if job.waiting:
            work.waiting.append(job)
    return work
