"""Scripts and styles of pages, at addresses that change with their content."""

from __future__ import annotations

from pathlib import PurePosixPath

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from lumos_queue.web.rendering import TYPES, static_files, static_path
from lumos_queue.web.request_context import NotFound

router = APIRouter()


@router.get("/static/{digest}/{name}")
def static_file(digest: str, name: str) -> Response:
    if name not in static_files() or static_path(name) != f"/static/{digest}/{name}":
        raise NotFound("There is no such file: load the page again.")
    headers = {"cache-control": "public, max-age=31536000, immutable"}
    return Response(static_files()[name], media_type=TYPES[PurePosixPath(name).suffix], headers=headers)


@router.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


@router.get("/")
def first_page() -> Response:
    return RedirectResponse("/jobs", 303)
