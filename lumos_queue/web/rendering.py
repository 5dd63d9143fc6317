"""Render pages as HTML, with the blocks and styles of reports and the explorer's own templates."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.responses import Response

from lumos_queue.pages.html import make_environment
from lumos_queue.pages.limits import shorten, truncate
from lumos_queue.util import wording
from lumos_queue.web.request_context import RequestContext

SCRIPTS = ("htmx.min.js", "sse.min.js", "keys.js", "problems.js", "unfolded.js")
TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


def render(visit: RequestContext, template: str, status: int = 200, **values: Any) -> Response:
    """Return a whole page for a person."""
    text = (
        _environment()
        .get_template(template)
        .render(
            visit=visit, person=visit.person, token=visit.session.token, notices=visit.session.take_notices(), **values
        )
    )
    return HTMLResponse(text, status)


def render_part(template: str, **values: Any) -> str:
    """Return a part of a page, as HTML to insert into an open page."""
    return _environment().get_template(template).render(**values)


def render_alone(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page that needs no login: the login form or an error."""
    text = _environment().get_template(template).render(visit=None, person=None, token="", notices=[], **values)
    return HTMLResponse(text, status)


@cache
def static_files() -> dict[str, bytes]:
    """Return the content of the files that pages load, by name."""
    folder = files("lumos_queue.web") / "static"
    contents = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    report = make_environment("lumos_queue.pages").get_template("style.css").render()
    return contents | {"style.css": report.encode() + b"\n" + contents["web.css"]}


@cache
def static_path(name: str) -> str:
    """Return the address of a file. It changes with the content, so that browsers may cache it forever."""
    digest = hashlib.sha256(static_files()[name]).hexdigest()[:16]
    return f"/static/{digest}/{name}"


@cache
def _environment() -> Environment:
    environment = make_environment("lumos_queue.web", "lumos_queue.pages")
    environment.globals |= {"static_path": static_path, "scripts": SCRIPTS}
    environment.tests |= {"share": wording.is_share}
    environment.filters |= {
        "time": wording.format_time,
        "stored_time": wording.format_stored_time,
        "cut": truncate,
        "seconds": wording.format_seconds,
        "rough_seconds": wording.format_rough_seconds,
        "number": "{:,}".format,
        "average": wording.format_average,
        "rate": wording.format_rate,
        "bytes": wording.format_bytes,
        "share": wording.format_share,
        "mean": wording.format_mean,
        "range": lambda ends: wording.format_range(*ends),
        "metric": lambda score: wording.format_score(score.value, score.bounds) if score else "",
        "kappa": wording.format_kappa,
        "shorten": lambda text, limit: shorten(" ".join(text.split()), limit),
        "interval": lambda ends: wording.format_interval(*ends),
    }
    return environment
