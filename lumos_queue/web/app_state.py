"""The state that all routes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from fastapi import Request

from db.engine.connection import Connection, Database
from db.engine.lease import Lease
from db.engine.snapshot import reading
from lumos_queue.settings import Settings
from lumos_queue.util.connection_counts import Connections
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.login_limits import KnownBrowsers, LoginAttempts
from lumos_queue.web.access.login_methods import LoginMethod
from lumos_queue.web.access.password_checks import PasswordChecks
from lumos_queue.web.access.sessions import Sessions
from lumos_queue.web.access.users import Person
from lumos_queue.web.downloads import Downloads
from lumos_queue.web.drafts import Drafts
from lumos_queue.web.live import LiveJobs
from lumos_queue.web.page_work import PageWork
from lumos_queue.web.shared_results import SharedResults

POOL_SECONDS = 3  #: that a page waits for a connection to the database


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
    insecure: bool = False  #: whether passwords and cookies may be sent in clear to other machines
    connections: Connections = field(default_factory=Connections)
    sessions: Sessions = field(default_factory=Sessions)
    attempts: LoginAttempts = field(default_factory=LoginAttempts)
    known_browsers: KnownBrowsers = field(default_factory=KnownBrowsers)
    password_checks: PasswordChecks = field(default_factory=PasswordChecks)
    drafts: Drafts = field(default_factory=Drafts)
    page_work: PageWork = field(default_factory=PageWork)
    results: SharedResults = field(default_factory=SharedResults)
    downloads: Downloads = field(default_factory=Downloads)

    @property
    def lease(self) -> Lease:
        return Lease(self.settings.lease_seconds)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.database.engine.connect() as connection:
            yield connection

    @contextmanager
    def open_for_results(self) -> Iterator[Connection]:
        """Open a transaction in a thread of `results`. They are two, so that most connections are left to the pages."""
        with reading(self.database) as connection:
            yield connection

    def stop_results(self) -> None:
        """Compute no more results, because the server ends."""
        self.results.stop()

    def settings_of(self, person: Person) -> Settings:
        """Return the settings with this person as the user who submits, corrects, labels and approves."""
        return self.settings.model_copy(update={"user": person.name})


def get_app_state(request: Request) -> AppState:
    return request.app.state.site
