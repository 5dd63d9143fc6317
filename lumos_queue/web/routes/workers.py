"""Workers: which processes are alive, what they hold, and which messages were thrown away."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from db.connection import clock
from db.pools import describe_gpus
from db.sessions import jobs_held, live_sessions, refused_messages
from lumos_queue.live.waits import is_silent
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import Reading

router = APIRouter()
MAX_JOBS = 10  #: of one worker that are named


@router.get("/workers")
def workers_page(visit: Reading) -> Response:
    """The page, or for one that is open its part that changes."""
    site = visit.site
    with site.reading() as connection:
        sessions = live_sessions(connection, site.settings.lease_seconds)
        held = jobs_held(connection)
        refused, moment = refused_messages(connection), clock(connection)
    shown = [
        {
            "row": one,
            "gpus": describe_gpus(one),
            "jobs": sorted(held.get(one.id, ()))[:MAX_JOBS],
            "more": max(0, len(held.get(one.id, ())) - MAX_JOBS),
            "silent": is_silent(one, site.settings),
            "seconds": max(0.0, one.silent_seconds),
            "alive": max(0.0, moment - one.started_at),
        }
        for one in sessions
    ]
    if "hx-request" in visit.request.headers:
        return HTMLResponse(render_part("live_workers.html", workers=shown))
    return render(visit, "workers.html", workers=shown, refused=refused, flower=site.flower)
