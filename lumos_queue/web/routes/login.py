"""Log in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import names_loopback
from lumos_queue.util.wording import format_rough_seconds
from lumos_queue.web.access.client_address import Client
from lumos_queue.web.access.login_limits import TooManyFailures
from lumos_queue.web.access.sessions import COOKIE_PART
from lumos_queue.web.app_state import AppState, get_app_state
from lumos_queue.web.errors import Busy
from lumos_queue.web.rendering import render_alone
from lumos_queue.web.request_context import Leaving

router = APIRouter()
BROWSER_SECONDS = 90 * 24 * 3600  #: that a browser stays known after a login


@router.get("/login")
async def login_page(request: Request, next: str = "/jobs", token: str = "") -> Response:
    """Show the form, or log in with the token of the printed address."""
    site = get_app_state(request)
    if token and _is_of_other_site(request):
        return _form(site, next, "Open the printed address itself, not a link of another page.", 403)
    if token:
        return await _admit(request, site, "", token, next)
    return _form(site, next)


@router.post("/login")
async def log_in(
    request: Request,
    secret: Annotated[str, Form(max_length=1_000)],
    name: Annotated[str, Form(max_length=200)] = "",
    next: Annotated[str, Form(max_length=4_000)] = "/jobs",
) -> Response:
    return await _admit(request, get_app_state(request), name.strip(), secret, next)


@router.post("/logout")
def log_out(visit: Leaving) -> Response:
    site = visit.site
    site.sessions.end(visit.request.cookies.get(site.cookie, ""))
    answer = RedirectResponse("/login", 303)
    cookie = f"{COOKIE_PART}{_browser_part(visit.request, site)}"
    is_secure = needs_secure_cookie(visit.request, site, _find_client(visit.request, site))
    answer.set_cookie(site.cookie, cookie, BROWSER_SECONDS, httponly=True, samesite="lax", secure=is_secure)
    return answer


async def _admit(request: Request, site: AppState, name: str, secret: str, target: str) -> Response:
    client = _find_client(request, site)
    browser = site.known_browsers.find(_browser_part(request, site), name)
    try:
        attempt = site.attempts.begin(name, client.group, browser)
    except TooManyFailures as error:
        answer = _form(
            site, target, f"Too many logins have failed: try again in {format_rough_seconds(error.seconds)}.", 429, name
        )
        answer.headers["retry-after"] = str(error.seconds)
        return answer
    try:
        person = await site.password_checks.admit(site.login_method, name, secret)
    except (Busy, SpecError):  # the password was not checked
        site.attempts.withdraw(attempt)
        raise
    if person is None:
        wrong = "Name or password is wrong." if site.login_method.asks_password else "The token is wrong."
        return _form(site, target, wrong, 403, name)
    site.attempts.succeed(attempt)
    answer = RedirectResponse(_own_path(target), 303)
    is_secure = needs_secure_cookie(request, site, client)
    session = site.sessions.begin(person.name, person.credential)
    cookie = f"{session}{COOKIE_PART}{site.known_browsers.make_cookie(name)}"
    answer.set_cookie(site.cookie, cookie, BROWSER_SECONDS, httponly=True, samesite="lax", secure=is_secure)
    return answer


def _is_of_other_site(request: Request) -> bool:
    """Return whether another site's page has made this request, unless a person has clicked its link."""
    is_clicked = request.headers.get("sec-fetch-user") == "?1" and request.headers.get("sec-fetch-dest") == "document"
    return request.headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_clicked


def _find_client(request: Request, site: AppState) -> Client:
    peer = request.client.host if request.client else ""
    stated = (",".join(request.headers.getlist(f"x-forwarded-{name}")) for name in ("for", "proto"))
    return site.proxies.find_client(peer, site.secure, *stated)


def needs_secure_cookie(request: Request, site: AppState, client: Client) -> bool:
    """Return whether cookies must be sent over TLS only. An explorer without TLS on loopback needs no such cookies."""
    if client.is_secure or request.headers.get("origin", "").startswith("https:"):
        return True
    return not (site.insecure or names_loopback(request.url.hostname or ""))


def _browser_part(request: Request, site: AppState) -> str:
    """Return the signed id of the browser, which stays in its cookie after a session."""
    return request.cookies.get(site.cookie, "").partition(COOKIE_PART)[2]


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
    """Return a target that is a path of this server, or else the path of the first page."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_own else "/jobs"
