"""The state that all routes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Request
from sqlalchemy import Connection

from db.connection import Database
from lumos_queue.settings import Settings
from lumos_queue.util.connection_counts import Connections
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.login_limits import LoginAttempts
from lumos_queue.web.access.login_methods import LoginMethod
from lumos_queue.web.access.sessions import Sessions
from lumos_queue.web.access.users import Person
from lumos_queue.web.drafts import Drafts
from lumos_queue.web.live import LiveJobs
from lumos_queue.web.page_work import PageWork


@dataclass(frozen=True, slots=True)
class AppState:
    """One explorer, with one database and one way to log in."""

    settings: Settings
    database: Database
    login_method: LoginMethod
    live: LiveJobs
    cookie: str  #: the name of the session's cookie: browsers share cookies among the ports of a host
    secure: bool  #: whether it is served with TLS
    flower: str = ""  #: the address of Flower; '' if it is unknown
    proxies: Proxies = field(default_factory=Proxies)
    connections: Connections = field(default_factory=Connections)
    sessions: Sessions = field(default_factory=Sessions)
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    drafts: Drafts = field(default_factory=Drafts)
    page_work: PageWork = field(default_factory=PageWork)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.database.engine.connect() as connection:
            yield connection

    def settings_of(self, person: Person) -> Settings:
        """Return the settings with this person as the user who submits, corrects, labels and approves."""
        return self.settings.model_copy(update={"user": person.name})


def get_app_state(request: Request) -> AppState:
    return request.app.state.site
