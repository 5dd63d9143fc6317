"""The explorer as an application: its routes, its error answers and its guard."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from lumos_queue.errors import DatabaseFailure, InfrastructureError, PoolTimeout, SpecError
from lumos_queue.web.access.guard import Guard
from lumos_queue.web.admission import Admission
from lumos_queue.web.app_state import POOL_SECONDS, AppState
from lumos_queue.web.errors import Busy, ClientGone
from lumos_queue.web.rendering import SCRIPTS, render, render_alone, static_path
from lumos_queue.web.request_context import Forbidden, NeedsLogin, NotFound, find_request_context
from lumos_queue.web.routes import (
    actions,
    annotate,
    artifacts,
    audits,
    builds,
    comparison,
    corrections,
    drafts,
    endpoints,
    episode,
    episodes,
    jobs,
    login,
    static,
    workers,
)

_LOG = logging.getLogger(__name__)
#: In the order in which addresses are matched.
_PAGES = (
    static,
    login,
    jobs,
    episodes,
    episode,
    corrections,
    comparison,
    artifacts,
    audits,
    annotate,
    workers,
    endpoints,
    actions,
    drafts,
    builds,
)
ROUTERS = tuple(page.router for page in _PAGES)


def make_app(site: AppState, origins: Collection[str]) -> FastAPI:
    """Return the application. `origins`: the origins at which browsers may reach it, `http://127.0.0.1:8642`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.live.stop()
        site.drafts.stop()
        site.page_work.stop()
        site.password_checks.stop()
        site.stop_results()

    app = FastAPI(title="lumos-queue", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    app.add_exception_handler(NeedsLogin, _ask_login)
    app.add_exception_handler(Busy, _ask_to_wait)
    app.add_exception_handler(ClientGone, _answer_nobody)
    app.add_exception_handler(PoolTimeout, _ask_to_wait_for_pool)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _tell(status))
    app.add_exception_handler(Exception, _apologize)
    app.add_middleware(
        Guard,
        origins=origins,
        scripts=[static_path(script) for script in SCRIPTS],
        find_terms=Admission(ROUTERS, uploads=[audits.store_file]).find_terms,
        ask_login=_ask_login,
    )
    return app


_STATUS: dict[type[Exception], int] = {
    Forbidden: 403,
    NotFound: 404,
    SpecError: 400,
    RequestValidationError: 400,
    InfrastructureError: 503,
    HTTPException: 404,
}


async def _ask_login(request: Request, _: Exception | None = None) -> Response:
    if request.method != "GET" or "hx-request" in request.headers:
        return _answer(request, 401, "Your login has ended: open the page again.")
    target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/login?next={quote(target, safe='')}", 303)


async def _ask_to_wait(request: Request, error: Exception) -> Response:
    assert isinstance(error, Busy)
    answer = _answer(request, 503, str(error), "Not now")
    answer.headers["retry-after"] = str(error.seconds)
    return answer


async def _answer_nobody(request: Request, _: Exception) -> Response:
    """Answer a closed connection, with nginx's status for it."""
    return Response(status_code=499)


async def _ask_to_wait_for_pool(request: Request, _: Exception) -> Response:
    text = "All connections of the explorer to the database are in use: load this page again."
    return await _ask_to_wait(request, Busy(text, POOL_SECONDS))


def _tell(status: int):
    async def tell(request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else status
        return _answer(request, code, _words(request, error))

    return tell


async def _apologize(request: Request, error: Exception) -> Response:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer(
        request,
        500,
        "Rows of the database are damaged, or this is a fault of lumos-queue: see the log of lumos web.",
    )


def _words(request: Request, error: Exception) -> str:
    match error:
        case RequestValidationError():
            first = error.errors()[0]
            return f"'{first['loc'][-1]}' cannot be read: {str(first['msg'])[:200]}."
        case DatabaseFailure():
            return f"The database does not answer: {' '.join(error.driver_message.split())[:200]}. Load the page again."
        case HTTPException():
            return f"There is no page {request.url.path[:200]}." if error.status_code == 404 else str(error.detail)
    return str(error)


def _answer(request: Request, status: int, text: str, title: str = "Not possible") -> Response:
    """Answer with one line: on a page for a person, as plain text for a part of a page."""
    if "hx-request" in request.headers or request.method not in ("GET", "HEAD", "POST"):
        return PlainTextResponse(text + "\n", status)
    try:
        visit = find_request_context(request)
    except (NeedsLogin, SpecError):  # no login, or an unreadable password file: a page without a person
        return render_alone("error.html", status, title=title, text=text)
    return render(visit, "error.html", status, title=title, text=text)
