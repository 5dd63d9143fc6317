"""Endpoints: their load, the jobs that wait for them, and the caps that people set."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.responses import HTMLResponse, RedirectResponse, Response

from db.engine.connection import Connection, clock
from db.queue.sessions import live_sessions
from db.queue.shares import list_caps, set_cap
from db.queue.web_actions import PersonAction
from lumos_queue.endpoints.registry import check_server_form
from lumos_queue.errors import SpecError
from lumos_queue.live.loads import read_loads, read_open_work
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.util.sanitize import storable
from lumos_queue.util.wording import plural
from lumos_queue.web.app_state import AppState
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import Operating, Reading

router = APIRouter()
MAX_OPEN = 500  #: jobs whose endpoints are read


@router.get("/endpoints")
def endpoints_page(visit: Reading) -> Response:
    """The page of endpoints, or its changing part for an open page."""
    with visit.site.reading() as connection:
        values = _read(connection, visit.site)
    if "hx-request" in visit.request.headers:
        return HTMLResponse(render_part("live_endpoints.html", **values))
    return render(visit, "endpoints.html", **values)


@router.post("/endpoints/cap")
def change_cap(
    visit: Operating, url: Annotated[str, Form(max_length=2_000)], cap: Annotated[str, Form(max_length=40)] = ""
) -> Response:
    """Set a cap; 0 or '' removes it."""
    url, cap = storable(url.strip())[0], cap.strip()
    if cap and not (cap.isascii() and cap.isdigit() and int(cap) <= MAX_INTEGER):
        raise SpecError(f"'{cap}' is not a cap: expected a whole number from 0 to {MAX_INTEGER:,}; 0 removes it.")
    requests = int(cap or 0)
    with visit.site.reading() as connection:
        capped_urls = {row[0] for row in list_caps(connection)}
    if requests or url not in capped_urls:  # an existing cap may be removed, even with an invalid address
        check_server_form(url)  # a password of the explorer gives no access to this machine's files
    set_cap(visit.site.database, url, requests or None, PersonAction(visit.person.name, "cap", url))
    visit.session.add_notice(
        f"{url} has a cap of {plural(requests, 'request')} now." if requests else f"{url} has no cap now."
    )
    return RedirectResponse("/endpoints", 303)


def _read(connection: Connection, site: AppState) -> dict[str, Any]:
    work = read_open_work(connection, MAX_OPEN)
    caps = list_caps(connection)
    sessions = live_sessions(connection, site.lease)
    loads = read_loads(connection, [*work.jobs, *(cap[0] for cap in caps)], sessions, site.settings)
    return {
        "loads": loads,
        "work": work,
        "caps": caps,
        "held": {cap.url: cap.held for cap in caps},
        "stated": {cap.url for cap in caps if cap.is_stated},
        "moment": clock(connection),
        "max_open": MAX_OPEN,
    }
