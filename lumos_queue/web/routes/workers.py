"""Workers: the live processes, the jobs whose items they hold, and the refused messages."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from db.engine.connection import clock
from db.kinds.pools import describe_gpus
from db.queue.sessions import jobs_held, list_refused_messages, live_sessions
from lumos_queue.live.waits import is_silent
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import Reading

router = APIRouter()
MAX_JOBS = 10  #: listed of one worker


@router.get("/workers")
def workers_page(visit: Reading) -> Response:
    """The page of workers, or its changing part for an open page."""
    site = visit.site
    with site.reading() as connection:
        sessions = live_sessions(connection, site.lease)
        jobs_by_worker = jobs_held(connection)
        refusals, moment = list_refused_messages(connection), clock(connection)
    workers = [
        {
            "row": session,
            "gpus": describe_gpus(session),
            "jobs": sorted(jobs_by_worker.get(session.id, ()))[:MAX_JOBS],
            "more": max(0, len(jobs_by_worker.get(session.id, ())) - MAX_JOBS),
            "silent": is_silent(session, site.settings),
            "seconds": max(0.0, session.silent_seconds),
            "alive": max(0.0, moment - session.started_at),
        }
        for session in sessions
    ]
    if "hx-request" in visit.request.headers:
        return HTMLResponse(render_part("live_workers.html", workers=workers))
    return render(visit, "workers.html", workers=workers, refused=refusals, flower=site.flower)
