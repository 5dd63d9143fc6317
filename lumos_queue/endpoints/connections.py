"""HTTP/1.1 to one address over persistent connections, with little processor time for each request.

A general client would spend more time on each request than all other code of this project. This client has one address,
one kind of request, replies of bounded size (lumos_queue/endpoints/connection.py), and one request at a time on a
connection. It has no redirects, proxies, cookies or compression. docs/decisions/0007 has measurements.
"""

from __future__ import annotations

import asyncio
import math
import time
from urllib.parse import urlsplit

from lumos_queue.endpoints.connection import Broken, Connection, HttpReply, Unreachable
from lumos_queue.endpoints.dial import dial, tls_context
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.util.addresses import Origin
from lumos_queue.util.os_errors import describe_os_error
from lumos_queue.util.wording import format_limit


class Connections:
    """The connections to one address. All requests must come from the event loop of the first request.

    Each request in flight has its own connection, so callers decide how many there are.
    """

    def __init__(
        self,
        base: str,
        headers: dict[str, str],
        connect_seconds: float,
        max_bytes: int,
        hosts: Hosts | None = None,
        beyond: str = "",
    ):
        """`base`: http://HOST[:PORT] or https://…; if it has a path, the path of each request is appended to it.

        `max_bytes`: limit of a reply with its head. `hosts`: the permitted hosts. `beyond`: why addresses of other
        machines are forbidden; '' if they are not.
        """
        self._origin = Origin.of(base)
        self._hosts, self._beyond = hosts or Hosts(), beyond
        self._path = urlsplit(base).path.rstrip("/")
        authority = self._origin.authority
        fields = {"Host": authority, "Accept": "application/json", "Accept-Encoding": "identity", **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._connect_seconds, self._max_bytes = connect_seconds, max_bytes
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._watch: asyncio.TimerHandle | None = None

    async def request(
        self, method: str, path: str, body: bytes, seconds: float, max_bytes: int | None = None
    ) -> HttpReply:
        """Send one request and return the whole reply.

        `seconds`: time to the deadline; math.inf: no deadline. `max_bytes`: limit of the reply, if not the default.
        Raises ForbiddenHost, Unreachable, TimeoutError, TooLong, or Broken when the connection ends early.
        """
        head = f"{method} {self._path}{path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        message, deadline = head.encode("latin-1") + body, time.monotonic() + seconds
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                break
        else:
            connection = await self._connect(min(seconds, self._connect_seconds))
        self._busy.add(connection)
        connection.deadline = deadline
        if self._watch is None and seconds < math.inf:
            self._watch = asyncio.get_running_loop().call_later(self._pause(), self._end_late_ones)
        try:
            reply = await connection.exchange(message, max_bytes or self._max_bytes)
        except BaseException:
            connection.end(Broken("given up"))  # bytes that still arrive must not become the reply to another request
            raise
        finally:
            self._busy.discard(connection)
        if reply.status >= 500:
            connection.end(Broken("after a failure"))  # uvicorn, for example, then closes it without a header
        if connection.open:
            self._idle.append(connection)
        return reply

    def close(self) -> None:
        for connection in (*self._idle, *self._busy):
            connection.end(Broken("the endpoint was closed"))
        self._idle.clear()
        if self._watch:
            self._watch.cancel()
            self._watch = None

    async def _connect(self, seconds: float) -> Connection:
        loop = asyncio.get_running_loop()
        host = self._origin.host
        context = tls_context() if self._origin.scheme == "https" else None
        try:
            async with asyncio.timeout(seconds):
                tcp_socket = await dial(host, self._origin.port, self._hosts, self._beyond)
                _, connection = await loop.create_connection(
                    lambda: Connection(loop), sock=tcp_socket, ssl=context, server_hostname=host if context else None
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {format_limit(seconds)}") from None
        except (OSError, UnicodeError) as error:  # ssl.SSLError is an OSError; UnicodeError: not a host name
            raise Unreachable(f"no connection: {describe_os_error(error)}") from error
        return connection

    def _end_late_ones(self) -> None:
        """End the requests whose deadlines have passed. One timer serves all requests."""
        now = time.monotonic()
        for connection in [connection for connection in self._busy if connection.deadline <= now]:
            connection.end(TimeoutError())
        has_deadline = any(connection.deadline < math.inf for connection in self._busy)
        self._watch = (
            asyncio.get_running_loop().call_later(self._pause(), self._end_late_ones) if has_deadline else None
        )

    def _pause(self) -> float:
        """Return the seconds to the next deadline, at most 0.25: a new request may have an earlier deadline."""
        now = time.monotonic()
        return min(0.25, max(0.005, min((connection.deadline for connection in self._busy), default=now) - now))
