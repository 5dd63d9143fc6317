"""The address and the session of a request, known from its head."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request

from lumos_queue.util.addresses import group_address
from lumos_queue.util.connection_counts import Connections
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.sessions import Session, Sessions
from lumos_queue.web.connections.turns import Turns

RawHeaders = list[tuple[bytes, bytes]]  # with lowercase names


@dataclass(slots=True)
class Clients:
    """What connections need to know of the explorer."""

    connections: Connections
    sessions: Sessions
    cookie: str  #: the name of the session's cookie
    proxies: Proxies
    people_turns: Turns = field(init=False)
    stranger_turns: Turns = field(init=False)

    def __post_init__(self) -> None:
        limits = self.connections.limits
        self.people_turns = Turns(limits.answers_of_person)
        self.stranger_turns = Turns(limits.answers_of_address, limits.answers_of_strangers)

    def find_session(self, headers: RawHeaders) -> Session | None:
        """Return the session of a request."""
        name = Request({"type": "http", "headers": headers}).cookies.get(self.cookie, "")
        return self.sessions.find(name) if name else None

    def group_of_peer(self, peer: str) -> str:
        """Return the address that a new connection counts for; '' for a proxy, whose next head states the client."""
        return "" if self.proxies.includes(peer) else group_address(peer)

    def group_of_request(self, peer: str, headers: RawHeaders) -> str:
        """Return the address that a request without a session counts for."""

        def join(name: bytes) -> str:
            return ",".join(value.decode("latin-1") for key, value in headers if key == name)

        return self.proxies.find_client(peer, False, join(b"x-forwarded-for"), join(b"x-forwarded-proto")).group
