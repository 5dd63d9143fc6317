"""Read what a page displays from the database once for all who request it (lumos_queue/web/shared_results.py)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool

from db.engine.connection import Connection
from db.queries.changes import ALL_JOBS, Change, find_job_change
from lumos_queue.web.request_context import RequestContext
from lumos_queue.web.shared_results import SharedResult


async def share_jobs(
    visit: RequestContext, key: Hashable, jobs: Sequence[str], read: Callable[[Connection], Any]
) -> SharedResult:
    """Return the result of `read` on jobs (their whole ids); without any, on all jobs.

    `key` describes the result completely. Raises the errors of `SharedResults.find`.
    """
    return await share(visit, key, lambda connection: find_job_change(connection, jobs) if jobs else ALL_JOBS, read)


async def share(
    visit: RequestContext,
    key: Hashable,
    find_change: Callable[[Connection], Change],
    read: Callable[[Connection], Any],
) -> SharedResult:
    """Return the result of `read`, which is current after the change that `find_change` returns."""
    site = visit.site

    def find_present_change() -> Change:
        with site.reading() as connection:
            return find_change(connection)

    def compute() -> tuple[Change, Any]:
        with site.open_for_results() as connection:
            return find_change(connection), read(connection)

    change = await run_in_threadpool(find_present_change)
    return await site.results.find(visit.request, visit.person.name, key, change, compute)
