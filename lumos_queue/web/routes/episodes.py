"""Lists of episodes, of one job or of all jobs, under a filter, with facets and exports."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from db.engine.connection import Connection
from db.engine.snapshot import reading
from db.queries.facets import MAX_COUNTED, count_facets
from db.queries.filters import Filter
from lumos_queue.errors import SpecError
from lumos_queue.submission.filters import read_where
from lumos_queue.util.sanitize import storable
from lumos_queue.web.answers import answer_part, download
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import Reading, RequestContext
from lumos_queue.web.routes.jobs import find_job
from lumos_queue.web.sharing import share_jobs
from lumos_queue.web.views.episode_list import (
    EXPORTED,
    EpisodePage,
    Scope,
    export_csv,
    export_json,
    link_facets,
    read_list,
)

router = APIRouter()


@router.get("/episodes")
def all_episodes(visit: Reading, where: str = "", after: str = "") -> Response:
    """The episodes of all jobs."""
    return _list_page(visit, "", where, after)


@router.get("/jobs/{name}/episodes")
def job_episodes(visit: Reading, name: str, where: str = "", after: str = "") -> Response:
    """The episodes of one job."""
    with reading(visit.site.database) as connection:
        job = find_job(connection, name).id
    if job != name:
        return RedirectResponse(Scope(job, Filter()).path(where=where, after=after), 303)
    return _list_page(visit, job, where, after)


@router.get("/episodes/rows")
async def episode_rows(visit: Reading, job: str = "", where: str = "", after: str = "") -> Response:
    """The rows of a list, which are loaded after the page because a filter may take long."""
    scope, after = await run_in_threadpool(_read_scope, visit, job, where), storable(after)[0]
    key = "rows", scope.where, scope.job, after
    result = await share_jobs(visit, key, scope.jobs, lambda connection: read_list(connection, scope, after))
    if "hx-request" not in visit.request.headers:
        where = str(scope.own_filter)
        return await run_in_threadpool(lambda: _render(visit, scope, result.value, where, age=result.age))
    return await answer_part("episode_rows.html", result, lambda: {"page": result.value}, scope=scope)


@router.get("/episodes/facets")
async def facets(visit: Reading, job: str = "", where: str = "") -> Response:
    """The facets of a list's episodes, counted up to a limit."""
    scope = await run_in_threadpool(_read_scope, visit, job, where)
    key = "facets", scope.where, scope.job
    result = await share_jobs(visit, key, scope.jobs, lambda connection: count_facets(connection, scope.whole))

    def describe() -> dict[str, Any]:
        counts = result.value
        return {"facets": link_facets(scope, counts), "counted": counts.counted, "more": counts.has_more}

    return await answer_part("facets.html", result, describe)


@router.get("/episodes/export.csv")
def export_as_csv(visit: Reading, job: str = "", where: str = "") -> Response:
    """The episodes of a list as CSV, streamed."""
    chunks = export_csv(visit.site.database, _read_scope(visit, job, where))
    return download(visit, chunks, "text/csv; charset=utf-8", "episodes.csv")


@router.get("/episodes/export.jsonl")
def export_as_json(visit: Reading, job: str = "", where: str = "") -> Response:
    """The episodes of a list as JSON lines, streamed."""
    chunks = export_json(visit.site.database, _read_scope(visit, job, where))
    return download(visit, chunks, "application/x-ndjson", "episodes.jsonl")


def _list_page(visit: RequestContext, job: str, where: str, after: str) -> Response:
    where, after, wrong, page = storable(where)[0], storable(after)[0], "", None
    scope = Scope(job, Filter())
    try:
        scope = Scope(job, read_where(visit.site.database, where, job))
        # A filter may have to read all episodes to find a match: its rows are loaded after the page.
        if not scope.own_filter.terms:
            with reading(visit.site.database) as connection:
                page = read_list(connection, scope, after)
    except SpecError as error:
        wrong = str(error)
    return _render(visit, scope, page, where, after, wrong)


def _render(
    visit: RequestContext,
    scope: Scope,
    page: EpisodePage | None,
    where: str,
    after: str = "",
    wrong: str = "",
    age: str = "",
) -> Response:
    return render(
        visit,
        "episodes.html",
        400 if wrong else 200,
        scope=scope,
        where=where,
        after=after,
        page=page,
        wrong=wrong,
        age=age,
        exported=EXPORTED,
        counted=MAX_COUNTED,
    )


def _read_scope(visit: RequestContext, job: str, where: str) -> Scope:
    """The scope of a list. Raises SpecError for an unreadable filter, NotFound for an unknown job."""
    with reading(visit.site.database) as connection:
        job = _whole_id(connection, job)
    return Scope(job, read_where(visit.site.database, storable(where)[0], job))


def _whole_id(connection: Connection, job: str) -> str:
    return find_job(connection, job).id if job else ""
