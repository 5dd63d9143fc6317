"""Checks of every request (its host, origin and size), and the security headers of every answer.

A page may send requests to this server only, may run only the scripts at their exact addresses, and cannot be framed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 20 * 2**20  #: bytes of a request: it may contain a file of labels
READS = ("GET", "HEAD")


class BodyTooLarge(Exception):
    """Raised while reading a body that is larger than MAX_BODY."""


class Guard:
    """Refuses requests for other hosts and from other origins, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, origins: Collection[str], scripts: Sequence[str]):
        """`origins`: the origins at which browsers may reach the server. `scripts`: the paths of the pages' scripts."""
        self._app, self._origins, self._scripts = app, frozenset(origins), tuple(scripts)
        self._origin_by_host = {origin.partition("://")[2]: origin for origin in sorted(origins)}  # by Host header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._origin_by_host:
            await _refuse(421, "This server has another name: open the address that it printed.")(scope, receive, send)
            return
        if problem := self._problem(scope["method"], headers):
            await _refuse(403, problem)(scope, receive, send)
            return
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            await _refuse(413, f"A request has at most {MAX_BODY:,} bytes.")(scope, receive, send)
            return
        policy = self._policy(host)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer_headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer_headers.setdefault(name, value)
                answer_headers["content-security-policy"] = policy
            await send(message)

        await self._app(scope, _limit_body(receive), send_with_headers)

    def _problem(self, method: str, headers: Headers) -> str:
        """Return the reason to refuse a request; '' for a request that may be answered."""
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return "This request comes from another site."
        if method not in READS and origin is None and headers.get("sec-fetch-site") != "same-origin":
            return "This request does not say where it comes from."
        return ""

    def _policy(self, host: str) -> str:
        origin = self._origin_by_host[host]
        scripts = " ".join(origin + path for path in self._scripts)
        return (
            f"default-src 'none'; script-src {scripts}; style-src {origin}/static/; img-src 'self' data:; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )


_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def _refuse(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text + "\n", status, headers={**_HEADERS, "content-security-policy": "default-src 'none'"})


def _limit_body(receive: Receive) -> Receive:
    """Limit the size of a body whose length no header states. Reading more raises BodyTooLarge."""
    size = 0

    async def receive_part() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY:
            raise BodyTooLarge
        return message

    return receive_part
