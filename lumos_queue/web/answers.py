"""Answers of routes that do not wait in a thread of the server: parts of pages from shared results, and downloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response, StreamingResponse

from lumos_queue.web.rendering import render_part
from lumos_queue.web.request_context import RequestContext
from lumos_queue.web.shared_results import SharedResult


async def answer_part(
    template: str, result: SharedResult, describe: Callable[[], Mapping[str, Any]], **values: Any
) -> Response:
    """Return a part of a page with the values that `describe` returns, which runs in a thread, and the result's age."""

    def render_result() -> str:
        return render_part(template, age=result.age, **describe(), **values)

    return HTMLResponse(await run_in_threadpool(render_result))


def download(visit: RequestContext, chunks: Iterator[str], media_type: str, name: str) -> Response:
    """Return chunks of a file as a download, at the rate of web/downloads.py."""
    stream = visit.site.downloads.stream(visit.person.name, visit.is_current, chunks)
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return StreamingResponse(stream, media_type=media_type, headers=headers)
