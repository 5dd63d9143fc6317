"""Comparison of jobs: the report's figures, the changed tasks, and the trajectories of one task side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from sqlalchemy import Connection
from starlette.responses import HTMLResponse, Response

from db.trajectories import reading
from lumos_queue.errors import SpecError
from lumos_queue.pages.labels import label_jobs
from lumos_queue.pages.limits import LEVELS
from lumos_queue.pages.sections.comparison import comparison
from lumos_queue.reports.comparability import COMMON, choose_metric
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.step_pairs import pair_episodes
from lumos_queue.util.sanitize import storable
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import NotFound, Reading
from lumos_queue.web.routes.jobs import find_job
from lumos_queue.web.views.comparison import MAX_JOBS, find_of_task, list_changed
from lumos_queue.web.views.fields import FieldChoice, choose_fields

router = APIRouter()
MAX_KEY = 2**62  #: the largest key of an episode or task in an address
Names = Annotated[list[str], Query(default_factory=list)]
Key = Annotated[int, Query(ge=0, le=MAX_KEY)]


@router.get("/compare")
def compare_page(visit: Reading, jobs: Names, metric: str = "", common: bool = False, by: str = "") -> Response:
    """The page of a comparison; its figures and lists are loaded after it."""
    metric, wrong, labels = storable(metric)[0], "", []
    fields = FieldChoice()
    rows: list[Any] = []
    with reading(visit.site.database) as connection:
        try:
            rows = _find_jobs(connection, jobs)
            choose_metric(connection, rows, metric)
            labels = label_jobs(connection, rows)
            fields = choose_fields(connection, rows, by)
        except SpecError as error:
            wrong = str(error)
    options = {"metric": metric, "common": "true" if common else ""}
    query = _query(rows, **options, by=storable(by)[0])
    hidden_fields = list(_parameters(rows, **options).items())
    return render(
        visit,
        "compare.html",
        400 if wrong else 200,
        jobs=rows,
        labels=labels,
        query=query,
        metric=metric,
        wrong=wrong,
        fields=fields,
        hidden=hidden_fields,
        action="/compare",
    )


@router.get("/compare/figures")
def figures(visit: Reading, jobs: Names, metric: str = "", common: bool = False, by: str = "") -> Response:
    """The report's comparison, as a part of the page."""
    with reading(visit.site.database) as connection:
        rows = _find_jobs(connection, jobs)
        fields = [storable(by)[0]] if by else []
        try:
            report = compare_jobs(connection, rows, Options(storable(metric)[0], common, max_pairs=0, by=fields))
        except SpecError as error:
            # The line names an option of the command line: the page has a link instead.
            text, offer, _ = str(error).partition(COMMON)
            query = _query(rows, metric=metric, common="true", by=by) if offer else ""
            return HTMLResponse(render_part("compare_refused.html", text=text.strip(), query=query))
    blocks = list(comparison([report], LEVELS[0]))
    return HTMLResponse(render_part("compare_figures.html", blocks=blocks, jobs=report["jobs"]))


@router.get("/compare/changed")
def show_changed_tasks(
    visit: Reading, jobs: Names, other: str, metric: str = "", better: bool = True, after: Key = 0
) -> Response:
    """The tasks on which another job is better, or worse, than the first, as a part of the page."""
    with reading(visit.site.database) as connection:
        rows = _find_jobs(connection, jobs)
        second = next((row for row in rows[1:] if row.id == other), None)
        if second is None:
            raise NotFound(f"Job {other[:40]} is not compared with {rows[0].id}: add it to jobs=.")
        pairs, has_more = list_changed(connection, rows[0], second, storable(metric)[0], better, after)
    query = _query(rows)
    further = (
        {"other": other, "metric": metric, "better": str(better).lower(), "after": pairs[-1].episode_a}
        if has_more
        else {}
    )
    return HTMLResponse(
        render_part(
            "compare_changed.html",
            first=rows[0],
            other=second,
            pairs=pairs,
            query=query,
            after=after,
            further=f"{query}&{urlencode(further)}" if has_more else "",
            better=better,
        )
    )


@router.get("/compare/task")
def task_page(
    visit: Reading, jobs: Names, task: Key, sample: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
) -> Response:
    """The trajectories of one task in all jobs, each beside the trajectory of the first job."""
    with reading(visit.site.database) as connection:
        rows = _find_jobs(connection, jobs)
        if len(rows) < 2:
            raise SpecError("Name two jobs or more: /compare/task?jobs=A,B&task=KEY.")
        first, *other_names = find_of_task(connection, rows, task, sample)
        pairs = [pair_episodes(connection, (first, name)) for name in other_names]
    return render(visit, "compare_task.html", pairs=pairs, query=_query(rows))


def _find_jobs(connection: Connection, name_lists: Sequence[str]) -> list[Any]:
    """The jobs' rows, without repetitions. Raises NotFound for an unknown job, SpecError for too many jobs."""
    names = [name for several in name_lists for name in several.split(",") if name]
    if len(names) > MAX_JOBS:
        raise SpecError(f"{len(names):,} jobs are too many to compare at once: name at most {MAX_JOBS}.")
    jobs = [find_job(connection, name) for name in names]
    return list({row.id: row for row in jobs}.values())


def _query(rows: Sequence[Any], **options: str) -> str:
    return urlencode(_parameters(rows, **options))


def _parameters(rows: Sequence[Any], **options: str) -> dict[str, str]:
    return {"jobs": ",".join(row.id for row in rows)} | {name: value for name, value in options.items() if value}
