"""Explorers that tests open, called in this process or served by a real server, and clients that have logged in."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import httpx2
from fastapi import FastAPI

from db.engine.connection import Database
from lumos_queue.settings import Settings
from lumos_queue.web.access.login_methods import LoginMethod, TokenLogin
from lumos_queue.web.access.users import Person, Role
from lumos_queue.web.app import make_app
from lumos_queue.web.app_state import AppState
from lumos_queue.web.live import LiveJobs
from lumos_queue.web.server import make_server

CHROMIUM = Path("/usr/bin/chromium")
ORIGIN = "http://127.0.0.1:8642"  #: of explorers that are called in this process: nothing listens there
SECONDS = 60  #: that a request may take, and that a server may take to stop


@dataclass
class RoleLogin:
    """Accepts each user in `people` with any secret but ''; tests change the rights of users."""

    people: dict[str, Role]
    asks_password: bool = True

    def admit(self, name: str, secret: str) -> Person | None:
        return self.find(name) if secret else None

    def find(self, name: str) -> Person | None:
        return Person(name, self.people[name]) if name in self.people else None


class AppTransport(httpx2.BaseTransport):
    """Calls an application in this thread, without a server; returns complete responses."""

    def __init__(self, app: FastAPI):
        self._inner = httpx2.ASGITransport(app, raise_app_exceptions=False)
        self._runner = asyncio.Runner()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._runner.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

    def close(self) -> None:
        """Do nothing: each client closes the transport, which all clients of an explorer share."""

    def end(self) -> None:
        """End the event loop."""
        self._runner.close()


@dataclass
class Explorer:
    """An explorer that is open, with the clients that a test has made."""

    url: str
    site: AppState
    transport: AppTransport | None = None  #: None: a server answers
    clients: list[httpx2.Client] = field(default_factory=list)

    def visitor(self) -> Client:
        """A client that has not logged in."""
        client = Client(self.url, self.transport)
        self.clients.append(client)
        return client

    def client(self, name: str = "") -> Client:
        """Return a client that has logged in with the token, or as the user of that name."""
        client = self.visitor()
        secret = self.site.login_method.token if isinstance(self.site.login_method, TokenLogin) else "any"
        answer = client.post("/login", data={"name": name, "secret": secret})
        assert answer.status_code == 303, answer.text
        return client

    @property
    def login_url(self) -> str:
        assert isinstance(self.site.login_method, TokenLogin)
        return f"{self.url}/login?token={self.site.login_method.token}"


class Client(httpx2.Client):
    """A browser without scripts: it sends the origin of its posts, and does not follow redirects."""

    def __init__(self, url: str, transport: httpx2.BaseTransport | None = None):
        super().__init__(base_url=url, headers={"origin": url}, timeout=SECONDS, trust_env=False, transport=transport)
        self._token = ""

    def token(self) -> str:
        """Return the token that the forms of the session send."""
        self._token = self._token or re.findall(r'name="token" value="([^"]+)"', self.get("/jobs").text)[0]
        return self._token

    def submit(self, path: str, data: Mapping[str, Any] | None = None, **options: Any) -> httpx2.Response:
        """Post a form of the session."""
        return self.post(path, data={"token": self.token(), **(data or {})}, **options)


@contextmanager
def call_explorer(database: Database, login_method: LoginMethod | None = None, **settings: Any) -> Iterator[Explorer]:
    """Open an explorer of the database that is called in this process; by default behind a token.

    Only one may be open, and not in a thread that drives a browser, because that has an event loop.
    """
    app, site = _get_app(), _make_site(database, login_method, "lumos-8642", settings)
    assert app.state.site is None, "another explorer is open"
    app.state.site = site
    transport = AppTransport(app)
    explorer = Explorer(ORIGIN, site, transport)
    try:
        yield explorer
    finally:
        for client in explorer.clients:
            client.close()
        transport.end()
        site.live.stop()
        site.drafts.stop()
        site.stop_results()
        app.state.site = None


@cache
def _get_app() -> FastAPI:
    """The application of all explorers that are called: it compiles a route at its first request, for 10 to 30 ms."""
    return make_app(cast(AppState, None), {ORIGIN})


@contextmanager
def serve_explorer(
    database: Database,
    login_method: LoginMethod | None = None,
    files: tuple[Path, Path] | None = None,
    state: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Explorer]:
    """Serve an explorer of the database in a thread of this process; by default behind a token.

    `files`: its certificate and key. `state`: fields of its AppState.
    """
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)  # before the server starts, so that early clients wait
        port = listener.getsockname()[1]
        site = _make_site(database, login_method, f"lumos-{port}", settings, state)
        url = f"{'https' if files else 'http'}://127.0.0.1:{port}"
        server = make_server(make_app(site, {url}), *(files or ()))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        explorer = Explorer(url, site)
        try:
            yield explorer
        finally:
            for client in explorer.clients:
                client.close()
            server.should_exit = True
            thread.join(SECONDS)
            assert not thread.is_alive(), f"the server has not stopped in {SECONDS} s"


def _make_site(
    database: Database,
    login_method: LoginMethod | None,
    cookie: str,
    settings: Mapping[str, Any],
    state: Mapping[str, Any] | None = None,
) -> AppState:
    site_settings = Settings(database_url=database.url, user="ann@here", **settings)
    return AppState(
        site_settings,
        database,
        login_method or TokenLogin("ann@here"),
        LiveJobs(database, site_settings),
        cookie,
        **{"secure": False, **(state or {})},
    )
