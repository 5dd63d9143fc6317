"""Comparison of jobs: the report's figures, the changed tasks, and the trajectories of one task side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from db.engine.connection import Connection
from db.engine.snapshot import reading
from db.queries.pairs import Pair
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.pages.labels import JobLabel, label_jobs
from lumos_queue.pages.sections.comparison import comparison
from lumos_queue.reports.comparability import COMMON, choose_metric
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.reports.step_pairs import pair_episodes
from lumos_queue.util.sanitize import storable
from lumos_queue.web.answers import answer_part
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import NotFound, Reading, RequestContext
from lumos_queue.web.routes.jobs import find_job
from lumos_queue.web.sharing import share_jobs
from lumos_queue.web.views.comparison import MAX_JOBS, find_of_task, list_changed
from lumos_queue.web.views.fields import FieldChoice, choose_fields

router = APIRouter()
MAX_KEY = 2**62  #: the largest key of an episode or task in an address
Names = Annotated[list[str], Query(default_factory=list)]
Key = Annotated[int, Query(ge=0, le=MAX_KEY)]


@router.get("/compare")
async def compare_page(visit: Reading, jobs: Names, metric: str = "", common: bool = False, by: str = "") -> Response:
    """The page of a comparison; its figures and lists are loaded after it."""
    metric, by = storable(metric)[0], storable(by)[0]
    options = {"metric": metric, "common": "true" if common else "", "by": by}
    try:
        names = await run_in_threadpool(_find_ids, visit, jobs)
        key = "compare", *names, metric, by
        result = await share_jobs(visit, key, names, lambda connection: _describe_jobs(connection, names, metric, by))
    except SpecError as error:
        return await run_in_threadpool(_show_page, visit, options, [], [], FieldChoice(), str(error))
    return await run_in_threadpool(lambda: _show_page(visit, options, *result.value))


def _describe_jobs(
    connection: Connection, names: Sequence[str], metric: str, by: str
) -> tuple[list[StoredJob], list[JobLabel], FieldChoice, str]:
    """The jobs' rows and labels, the choice of fields, and the reason why the jobs cannot be compared."""
    rows = _find_jobs(connection, names)
    try:
        choose_metric(connection, rows, metric)
        return rows, label_jobs(connection, rows), choose_fields(connection, rows, by), ""
    except SpecError as error:
        return rows, [], FieldChoice(), str(error)


def _show_page(
    visit: RequestContext,
    options: Mapping[str, str],
    rows: Sequence[StoredJob],
    labels: Sequence[JobLabel],
    fields: FieldChoice,
    wrong: str,
) -> Response:
    hidden_fields = [(name, value) for name, value in _parameters(rows, **options).items() if name != "by"]
    return render(
        visit,
        "compare.html",
        400 if wrong else 200,
        jobs=rows,
        labels=labels,
        query=_query(rows, **options),
        metric=options["metric"],
        wrong=wrong,
        fields=fields,
        hidden=hidden_fields,
        action="/compare",
    )


@router.get("/compare/figures")
async def figures(visit: Reading, jobs: Names, metric: str = "", common: bool = False, by: str = "") -> Response:
    """The report's comparison, as a part of the page."""
    names, metric, by = await run_in_threadpool(_find_ids, visit, jobs), storable(metric)[0], storable(by)[0]
    options = Options(metric, common, max_pairs=0, by=[by] if by else [])

    def read(connection: Connection) -> JobsComparison | str:
        try:
            return compare_jobs(connection, _find_jobs(connection, names), options)
        except SpecError as error:
            return str(error)

    result = await share_jobs(visit, ("figures", *names, metric, common, by), names, read)

    def describe() -> dict[str, Any]:
        report = result.value
        if isinstance(report, str):
            # The line names an option of the command line: the page has a link instead.
            text, offer, _ = report.partition(COMMON)
            query = _query_names(names, metric=metric, common="true", by=by) if offer else ""
            return {"blocks": (), "refusal": text.strip(), "query": query}
        return {"blocks": list(comparison([report], max_tasks=0)), "refusal": ""}

    return await answer_part("compare_figures.html", result, describe)


@router.get("/compare/changed")
async def show_changed_tasks(
    visit: Reading, jobs: Names, other: str, metric: str = "", better: bool = True, after: Key = 0
) -> Response:
    """The tasks on which another job is better, or worse, than the first, as a part of the page."""
    names, metric = await run_in_threadpool(_find_ids, visit, jobs), storable(metric)[0]
    if other not in names[1:]:
        raise NotFound(f"Job {other[:40]} is not compared with {', '.join(names[:1]) or 'a job'}: add it to jobs=.")

    def read(connection: Connection) -> tuple[list[Pair], bool]:
        first, second = _find_jobs(connection, [names[0], other])
        return list_changed(connection, first, second, metric, better, after)

    key = "changed", names[0], other, metric, better, after
    result = await share_jobs(visit, key, [names[0], other], read)

    def describe() -> dict[str, Any]:
        (pairs, has_more), query = result.value, _query_names(names)
        options = {"other": other, "metric": metric, "better": str(better).lower()}
        further = f"{query}&{urlencode(options | {'after': pairs[-1].episode_a})}" if has_more else ""
        return {"pairs": pairs, "query": query, "further": further}

    return await answer_part("compare_changed.html", result, describe, first=names[0], other=other, after=after)


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


def _find_jobs(connection: Connection, name_lists: Sequence[str]) -> list[StoredJob]:
    """The jobs' rows, without repetitions. Raises NotFound for an unknown job, SpecError for too many jobs."""
    names = [name for several in name_lists for name in several.split(",") if name]
    if len(names) > MAX_JOBS:
        raise SpecError(f"{len(names):,} jobs are too many to compare at once: name at most {MAX_JOBS}.")
    jobs = [find_job(connection, name) for name in names]
    return list({row.id: row for row in jobs}.values())


def _find_ids(visit: RequestContext, name_lists: Sequence[str]) -> list[str]:
    with visit.site.reading() as connection:
        return [row.id for row in _find_jobs(connection, name_lists)]


def _query(rows: Sequence[StoredJob], **options: str) -> str:
    return urlencode(_parameters(rows, **options))


def _query_names(names: Sequence[str], **options: str) -> str:
    return urlencode({"jobs": ",".join(names)} | {name: value for name, value in options.items() if value})


def _parameters(rows: Sequence[StoredJob], **options: str) -> dict[str, str]:
    return {"jobs": ",".join(row.id for row in rows)} | {name: value for name, value in options.items() if value}
