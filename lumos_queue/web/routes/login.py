"""Log in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from lumos_queue.web.app_state import AppState, get_app_state
from lumos_queue.web.rendering import render_alone
from lumos_queue.web.request_context import Leaving

router = APIRouter()


@router.get("/login")
def login_page(request: Request, next: str = "/jobs", token: str = "") -> Response:
    """The form, or with the token of the printed address the login itself."""
    site = get_app_state(request)
    if token:
        return _admit(request, site, "", token, next)
    return _form(site, next)


@router.post("/login")
def log_in(
    request: Request,
    secret: Annotated[str, Form(max_length=1_000)],
    name: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=4_000)] = "/jobs",
) -> Response:
    return _admit(request, get_app_state(request), name.strip(), secret, next)


@router.post("/logout")
def log_out(visit: Leaving) -> Response:
    visit.site.sessions.end(visit.request.cookies.get(visit.site.cookie, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(visit.site.cookie)
    return answer


def _admit(request: Request, site: AppState, name: str, secret: str, target: str) -> Response:
    address = request.client.host if request.client else ""
    keys = f"name {name}", f"address {address}"
    if seconds := site.attempts.seconds_to_wait(*keys):
        answer = _form(site, target, f"Too many logins have failed: try again in {seconds} s.", 429, name)
        answer.headers["retry-after"] = str(seconds)
        return answer
    person = site.login_method.admit(name, secret)
    if person is None:
        site.attempts.note_failure(*keys)
        wrong = "Name or password is wrong." if site.login_method.asks_password else "The token is wrong."
        return _form(site, target, wrong, 403, name)
    site.attempts.forget(keys[0])
    answer = RedirectResponse(_own_path(target), 303)
    answer.set_cookie(
        site.cookie, site.sessions.begin(person.name), httponly=True, samesite="lax", secure=site.secure, path="/"
    )
    return answer


def _form(site: AppState, target: str, wrong: str = "", status: int = 200, name: str = "") -> Response:
    return render_alone(
        "login.html",
        status,
        title="Log in",
        asks_password=site.login_method.asks_password,
        wrong=wrong,
        name=name,
        next=_own_path(target),
    )


def _own_path(target: str) -> str:
    """A path of this server; any other target becomes the first page."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_own else "/jobs"
