"""Checks of every request (its host, origin, session and size), and the security headers of every answer.

A page may send requests to this server only, may run only the scripts at their exact addresses, and cannot be framed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lumos_queue.web.access.bodies import Body, BodySlots, BodyTooLarge, Terms

READS = ("GET", "HEAD")
#: The extension of a server that bounds how many requests are answered at once. Its async function `take` waits for the
#: turn of the request and returns a function that ends it, or None if the sender has left.
TURN = "lumos.turn"


class Guard:
    """Refuses requests for other hosts, from other origins, or without a session, before it reads their body.

    It adds headers to every answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        origins: Collection[str],
        scripts: Sequence[str],
        find_terms: Callable[[Request], Terms],
        ask_login: Callable[[Request], Awaitable[Response]],
    ):
        """`origins`: the origins at which browsers may reach the server. `scripts`: the paths of the pages' scripts.

        `ask_login`: answers a request that needs a session and has none.
        """
        self._app, self._origins, self._scripts = app, frozenset(origins), tuple(scripts)
        self._origin_by_host = {origin.partition("://")[2]: origin for origin in sorted(origins)}  # by Host header
        self._find_terms, self._ask_login, self._slots = find_terms, ask_login, BodySlots()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = Body(headers, receive)
        terms = self._find_terms(Request(scope))
        send = body.discard_behind(send, terms.max_discarded)
        if refusal := self._refusal(scope["method"], headers, body, terms):
            await refusal(scope, receive, send)
            return
        send = self._with_headers(send, headers["host"].lower())
        if terms.needs_login and not terms.person:
            answer = await self._ask_login(Request(scope))
            await answer(scope, receive, send)
            return
        body.max_bytes = terms.max_bytes
        if body.is_announced and not terms.person:
            await body.receive_whole()  # before its turn: a slow sender delays nobody
        elif body.is_announced and await body.begin():
            with self._slots.take(terms.person, terms.max_bodies) as is_free:
                text = f"You are sending {terms.max_bodies} large requests already: wait until they end."
                app = self._answer if is_free else _refuse(503, text, retry_seconds=10)
                await app(scope, body.receive, send)
            return
        await self._answer(scope, body.receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by a page, when it is the request's turn. The turn ends when the answer begins."""
        extension = scope.get("extensions", {}).get(TURN)
        if extension is None:
            await self._app(scope, receive, send)
            return
        end_turn = await extension["take"]()
        if end_turn is None:
            return

        async def send_part(message: Message) -> None:
            end_turn()  # a page may be live for hours
            await send(message)

        try:
            await self._app(scope, receive, send_part)
        finally:
            end_turn()

    def _refusal(self, method: str, headers: Headers, body: Body, terms: Terms) -> Response | None:
        """Return the answer to a request that may not be answered by a page."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._origin_by_host:
            return _refuse(421, "This server has another name: open the address that it printed.")
        if problem := self._problem(method, headers):
            return _refuse(403, problem)
        has_access = bool(terms.person) or not terms.needs_login
        if has_access and (body.length is None or body.length > terms.max_bytes):
            return _refuse(413, str(BodyTooLarge(terms.max_bytes).detail))
        return None

    def _with_headers(self, send: Send, host: str) -> Send:
        policy = self._policy(host)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer_headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer_headers.setdefault(name, value)
                answer_headers["content-security-policy"] = policy
            await send(message)

        return send_with_headers

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


def _refuse(status: int, text: str, retry_seconds: int = 0) -> PlainTextResponse:
    retry = {"retry-after": str(retry_seconds)} if retry_seconds else {}
    policy = {"content-security-policy": "default-src 'none'"}
    return PlainTextResponse(text + "\n", status, headers={**_HEADERS, **policy, **retry})
