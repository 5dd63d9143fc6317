"""Jobs: the list, the live page of one job, and an operator's actions on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

import db.queries.jobs
import db.queue.job_changes
from db.engine.connection import Connection
from db.engine.lease import Lease
from db.kinds.failure_classes import FailureClass
from db.kinds.states import OPEN, JobState
from db.queries.failures import count_failures
from db.queue.stored_jobs import StoredJob
from db.queue.tags import tags_of
from db.queue.web_actions import PersonAction
from db.transfer.requeue import requeue
from lumos_queue.errors import SpecError
from lumos_queue.pages.compose import JobsPage, compose, read_page
from lumos_queue.pages.limits import LEVELS
from lumos_queue.reports.job_list import describe_jobs, list_jobs
from lumos_queue.reports.listed_job import ListedJob
from lumos_queue.reports.real_state import RealState
from lumos_queue.submission.filters import read_job_where
from lumos_queue.submission.resume import check_resume
from lumos_queue.util.sanitize import storable
from lumos_queue.util.wording import plural
from lumos_queue.web.access.users import Role
from lumos_queue.web.answers import answer_part
from lumos_queue.web.live import Parts
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import NotFound, Operating, Reading, RequestContext
from lumos_queue.web.shared_results import SharedResult
from lumos_queue.web.sharing import share_jobs
from lumos_queue.web.views.fields import FieldChoice, choose_fields
from lumos_queue.web.views.live_job import show_live_job

router = APIRouter()
PAGE = 50  #: jobs
DEEDS = ("pause", "resume", "cancel")


@router.get("/jobs")
def jobs_page(visit: Reading, where: str = "", before: str = "") -> Response:
    """The newest jobs, optionally under a filter."""
    site, where, wrong = visit.site, storable(where)[0], ""
    jobs: list[ListedJob] = []
    has_more = False
    try:
        condition = read_job_where(site.database, where)
        with site.reading() as connection:
            jobs, has_more = list_jobs(connection, condition, PAGE, site.lease, storable(before)[0])
    except SpecError as error:
        wrong = str(error)
    return render(visit, "jobs.html", 400 if wrong else 200, jobs=jobs, more=has_more, where=where, wrong=wrong)


@router.get("/jobs/{name}")
def job_page(visit: Reading, name: str, by: str = "") -> Response:
    """One job: its request, progress and failures; `by`: the field by which its report splits scores."""
    site = visit.site
    with site.reading() as connection:
        row = find_job(connection, name)
        (facts,) = describe_jobs(connection, [row], site.lease, row.created_at)
        tags = tags_of(connection, [row.id]).get(row.id, {})
    if name != row.id:
        return RedirectResponse(f"/jobs/{row.id}", 303)
    query = f"?{urlencode({'by': by})}" if (by := storable(by)[0]) else ""
    return render(visit, "job.html", job=row, facts=facts, tags=tags, deeds=_deeds_of(facts), query=query)


@router.get("/jobs/{name}/live")
def live_job(visit: Reading, name: str) -> Response:
    """Send each live part of the page as a server-sent event whenever it changes, and `ended` after the last one."""
    with visit.site.reading() as connection:
        job = find_job(connection, name).id
    visit.site.live.require_place(visit.person.name)

    async def events() -> AsyncIterator[str]:
        yield "retry: 2000\n\n"
        former_parts: Parts = {}
        async for parts, last in visit.site.live.follow(job, visit.person.name, show_live_job):
            if not visit.is_current():
                return
            for name, text in parts.items():
                if former_parts.get(name) != text:
                    yield _event(name, text)
            former_parts = parts
            if last:
                yield _event("ended", job)

    headers = {"x-accel-buffering": "no"}  # nginx would wait for more
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


@router.get("/jobs/{name}/failures")
async def failures_part(visit: Reading, name: str) -> Response:
    """The failures of infrastructure by class, for the job's page."""
    job = await run_in_threadpool(find_job_id, visit, name)
    result = await share_jobs(visit, ("failures", job), [job], lambda connection: count_failures(connection, job))
    may_requeue, token = visit.may(Role.OPERATOR), visit.session.token
    return await answer_part(
        "failures_part.html", result, lambda: {"failures": result.value}, job=job, may_requeue=may_requeue, token=token
    )


@router.get("/jobs/{name}/report")
async def report_part(visit: Reading, name: str, by: str = "") -> Response:
    """The current report of the job with charts, also by a field, as a part of its page or as a whole page."""
    job, by = await run_in_threadpool(find_job_id, visit, name), storable(by)[0]
    result = await share_jobs(
        visit, ("report", job, by), [job], lambda connection: _read_report(connection, visit.site.lease, job, by)
    )
    return await run_in_threadpool(_show_report, visit, job, result)


def _read_report(connection: Connection, lease: Lease, job: str, by: str) -> tuple[JobsPage, FieldChoice, str]:
    """The data of the report, the choice of fields, and the reason why the report is not by the chosen field."""
    row = find_job(connection, job)
    fields = choose_fields(connection, [row], by)
    try:
        return read_page(connection, [row], lease, by=fields.chosen), fields, ""
    except SpecError as error:
        if not fields.chosen:
            raise
        return read_page(connection, [row], lease), fields, str(error)


def _show_report(visit: RequestContext, job: str, result: SharedResult) -> Response:
    report_page, fields, wrong = result.value
    page = compose(report_page, LEVELS[0])
    values = {"page": page, "fields": fields, "hidden": (), "wrong": wrong, "age": result.age}
    if "hx-request" in visit.request.headers:
        return HTMLResponse(render_part("report_part.html", action=f"/jobs/{job}#report-head", **values))
    return render(visit, "report.html", 400 if wrong else 200, action=f"/jobs/{job}/report", **values)


@router.post("/jobs/{name}/state")
def change_state(visit: Operating, name: str, deed: Annotated[str, Form()]) -> Response:
    """Pause, resume or cancel a job."""
    site = visit.site
    if deed not in DEEDS:
        raise SpecError(f"'{deed[:40]}' is not an action on a job: expected {', '.join(DEEDS)}.")
    with site.reading() as connection:
        row = find_job(connection, name)
        if deed == "resume":
            check_resume(connection, site.settings, row)
    state = getattr(db.queue.job_changes, deed)(site.database, row.id, PersonAction(visit.person.name, deed, row.id))
    visit.session.add_notice(f"The job is {state}." + _who_goes_on(visit, state, row.id))
    return RedirectResponse(f"/jobs/{row.id}", 303)


@router.post("/jobs/{name}/requeue")
def requeue_class(visit: Operating, name: str, failed: Annotated[str, Form()]) -> Response:
    """Retry the items of one class of failures."""
    site = visit.site
    if failed not in tuple(FailureClass):
        raise SpecError(f"'{failed[:40]}' is not a class of failures: expected {', '.join(FailureClass)}.")
    with site.reading() as connection:
        row = find_job(connection, name)
        check_resume(connection, site.settings, row)
    action = PersonAction(visit.person.name, "requeue", row.id)
    count = requeue(site.database, row.id, FailureClass(failed), action)
    message = f"{plural(count, 'item')} will be retried."
    visit.session.add_notice(message + _who_goes_on(visit, JobState.QUEUED, row.id))
    return RedirectResponse(f"/jobs/{row.id}", 303)


def find_job(connection: Connection, name: str) -> StoredJob:
    """Return the job with this id or abbreviated id. Raises NotFound."""
    try:
        return db.queries.jobs.get_job(connection, storable(name)[0])
    except SpecError as error:
        raise NotFound(str(error)) from None


def find_job_id(visit: RequestContext, name: str) -> str:
    """Return the whole id of the job with this id or abbreviated id. Raises NotFound."""
    with visit.site.reading() as connection:
        return find_job(connection, name).id


def _deeds_of(facts: ListedJob) -> list[str]:
    """The possible actions on a job, by its facts of `reports.job_list.describe_jobs`."""
    if facts.state in OPEN:
        return ["pause", "cancel"]
    return [] if facts.state == JobState.CANCELLING or facts.real_state == RealState.DONE else ["resume"]


def _who_goes_on(visit: RequestContext, state: str, job: str) -> str:
    """The command that continues the job: without a broker, no worker waits for jobs."""
    return f" Continue with: lumos resume {job}" if state in OPEN and not visit.site.settings.broker_url else ""


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return f"event: {name}\n{lines}\n"
