"""Read the loads of endpoints, and which open jobs use these endpoints or wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from db.kinds.states import OPEN, JobState
from db.models import JobRow
from db.queries.damage import sound_jobs
from db.queue.sessions import traffic_of
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
    waiting: list[Any] = field(default_factory=list)  #: rows of jobs that wait
    has_more: bool = False  #: whether there are further jobs


def read_loads(connection: Connection, urls: Iterable[str], sessions: Sequence[Any], settings: Settings) -> list[Load]:
    """Return the loads of those of these endpoints that are servers. `sessions`: live workers, from `live_sessions`."""
    caps = {cap.url: cap.requests for cap in list_caps(connection)}
    calls = traffic_of(session for session in sessions if not is_silent(session, settings))
    server_urls = (url for url in dict.fromkeys(urls) if not url.startswith(IN_PROCESS))
    return [Load(url, calls.get(url, Traffic()), caps.get(url)) for url in server_urls]


def read_open_work(connection: Connection, limit: int) -> OpenWork:
    """Return the endpoints and the waits of at most `limit` open jobs, the newest first."""
    names = (JobRow.id, JobRow.spec, JobRow.state, JobRow.waiting, JobRow.not_before_at)
    query = select(*names).where(JobRow.state.in_((*OPEN, JobState.CANCELLING)))
    rows = connection.execute(query.order_by(JobRow.created_at.desc(), JobRow.id).limit(limit + 1)).all()
    work = OpenWork(has_more=len(rows) > limit)
    for row in sound_jobs(rows[:limit]):
        for url in dict.fromkeys(roles_of(row.spec).values()):
            if not url.startswith(IN_PROCESS):
                work.jobs.setdefault(url, []).append(row.id)
        if row.waiting:
            work.waiting.append(row)
    return work
