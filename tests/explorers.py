"""Explorers that tests open: a real server in a thread of this process, and clients that have logged in."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from db.connection import Database
from lumos_queue.settings import Settings
from lumos_queue.web.access.doors import Door, TokenDoor
from lumos_queue.web.access.people import Person, Role
from lumos_queue.web.app import make_app
from lumos_queue.web.live import LiveJobs
from lumos_queue.web.serving import make_server
from lumos_queue.web.site import Site


@dataclass
class RoleDoor:
    """Lets in, by any secret but '', whoever is in `people`; a test changes what they may do."""

    people: dict[str, Role]
    asks_password: bool = True

    def admit(self, name: str, secret: str) -> Person | None:
        return self.find(name) if secret else None

    def find(self, name: str) -> Person | None:
        return Person(name, self.people[name]) if name in self.people else None


@dataclass
class Explorer:
    """One that is being served."""

    url: str
    site: Site
    app: Any
    clients: list[httpx2.Client] = field(default_factory=list)

    def client(self, name: str = "") -> Client:
        """Logged in: with the token, or as the person of that name."""
        client = Client(self.url)
        self.clients.append(client)
        secret = self.site.door.token if isinstance(self.site.door, TokenDoor) else "any"
        answer = client.post("/login", data={"name": name, "secret": secret})
        assert answer.status_code == 303, answer.text
        return client

    @property
    def login_url(self) -> str:
        assert isinstance(self.site.door, TokenDoor)
        return f"{self.url}/login?token={self.site.door.token}"


class Client(httpx2.Client):
    """A browser without scripts: it says where its posts come from, and does not follow redirects by itself."""

    def __init__(self, url: str):
        super().__init__(base_url=url, headers={"origin": url}, timeout=60, trust_env=False)

    def token(self) -> str:
        """What its forms bring back."""
        return re.findall(r'name="token" value="([^"]+)"', self.get("/jobs").text)[0]

    def submit(self, path: str, data: Mapping[str, Any] | None = None, **options: Any) -> httpx2.Response:
        """Post a form of its own session."""
        return self.post(path, data={"token": self.token(), **(data or {})}, **options)


@contextmanager
def serving(database: Database, door: Door | None = None, **settings: Any) -> Iterator[Explorer]:
    """An explorer of that database; by default behind a token."""
    own = Settings(database_url=database.url, user="ann@here", **settings)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)  # at once: who connects before it serves waits
    port = listening.getsockname()[1]
    site = Site(own, database, door or TokenDoor("ann@here"), LiveJobs(database, own), f"lumos-{port}", False)
    url = f"http://127.0.0.1:{port}"
    app = make_app(site, {url})
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    explorer = Explorer(url, site, app)
    try:
        yield explorer
    finally:
        for client in explorer.clients:
            client.close()
        server.should_exit = True
        thread.join(30)
        listening.close()


CHROMIUM = Path("/usr/bin/chromium")
