"""HTTP/1.1 to one address over connections that are kept: what a request costs decides how many workers it takes.

A general client spends more on each request than all the rest of this project. This one knows one address, one kind of
request and replies of bounded size; parsing is httptools' (llhttp). One request at a time on a connection, no
redirects, no proxies, no cookies, no compression. docs/decisions/0007 tells what it saves.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import cast
from urllib.parse import urlsplit

import httptools


class Broken(Exception):
    """Raised when a connection ends, or what arrives is no HTTP, before a whole reply is there."""


class Unreachable(Broken):
    """Raised when there is no connection: nothing was sent."""


class TooLong(Broken):
    """Raised when a reply is longer than allowed; `status` is its status, 0 if not even that had come."""

    def __init__(self, message: str, status: int):
        self.status = status
        super().__init__(message)


class Reply:
    """Status, headers (names in small letters) and body."""

    __slots__ = ("body", "headers", "reason", "status")

    def __init__(self, status: int, reason: str, headers: dict[str, str], body: bytes):
        self.status, self.reason, self.headers, self.body = status, reason, headers, body


class Connections:
    """The connections to one address. Belongs to the event loop of its first request; how many there are is up to the
    callers, who have one for each request in flight.
    """

    def __init__(self, base: str, headers: dict[str, str], connect_seconds: float, most_bytes: int):
        """`base`: http://HOST[:PORT] or https://…; a path in it goes before each request's own."""
        parts = urlsplit(base)
        self._host, self._tls = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or (443 if self._tls else 80)
        self._path = parts.path.rstrip("/")
        fields = {"Host": parts.netloc, "Accept": "application/json", "Accept-Encoding": "identity", **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._connect_seconds, self._most_bytes = connect_seconds, most_bytes
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._watch: asyncio.TimerHandle | None = None

    async def request(self, method: str, path: str, body: bytes, seconds: float) -> Reply:
        """Send one request and return the whole reply; at most `seconds` from now.

        Raises Unreachable, TimeoutError, TooLong, or Broken when the connection ends early.
        """
        head = f"{method} {self._path}{path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        message, deadline = head.encode("latin-1") + body, time.monotonic() + seconds
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                break
        else:
            connection = await self._connect(min(seconds, self._connect_seconds))
        return await self._exchange(connection, message, deadline)

    def close(self) -> None:
        for connection in (*self._idle, *self._busy):
            connection.end(Broken("the endpoint was closed"))
        self._idle.clear()
        if self._watch:
            self._watch.cancel()
            self._watch = None

    async def _connect(self, seconds: float) -> _Connection:
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context() if self._tls else None
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop, self._most_bytes), self._host, self._port, ssl=context
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {seconds:g} s") from None
        except OSError as error:  # ssl.SSLError is one
            raise Unreachable(f"no connection: {error}") from error
        return connection

    async def _exchange(self, connection: _Connection, message: bytes, deadline: float) -> Reply:
        self._busy.add(connection)
        connection.deadline = deadline
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(self._pause(), self._end_late_ones)
        try:
            reply = await connection.exchange(message)
        except BaseException:
            connection.end(Broken("given up"))  # what may still arrive belongs to nobody
            raise
        finally:
            self._busy.discard(connection)
        if reply.status >= 500:
            connection.end(Broken("after a failure"))  # uvicorn, for one, closes it then, and does not say so
        if connection.open:
            self._idle.append(connection)
        return reply

    def _end_late_ones(self) -> None:
        """One timer for all requests in place of one for each."""
        now = time.monotonic()
        for connection in [one for one in self._busy if one.deadline <= now]:
            connection.end(TimeoutError())
        self._watch = asyncio.get_running_loop().call_later(self._pause(), self._end_late_ones) if self._busy else None

    def _pause(self) -> float:
        """Until the next deadline, but not for so long that a new, earlier one would be overlooked."""
        now = time.monotonic()
        return min(0.25, max(0.005, min((one.deadline for one in self._busy), default=now) - now))


class _Connection(asyncio.Protocol):
    """One connection. The parser calls the methods that start with `on_`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most_bytes: int):
        self.open = False
        self.deadline = 0.0
        self._loop, self._most_bytes = loop, most_bytes
        self._reply: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No assertion: uvloop's transport is one in all but its class.
        self._transport, self.open = cast(asyncio.Transport, transport), True

    async def exchange(self, message: bytes) -> Reply:
        self._parser = httptools.HttpResponseParser(self)
        self._begin()
        self._reply = self._loop.create_future()
        self._transport.write(message)
        return await self._reply

    def end(self, error: Exception) -> None:
        """Close at once; the request on it, if there is one, fails with `error`."""
        self.open = False
        self._transport.abort()
        self._fail(error)

    def data_received(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():
            self.end(Broken("the server sent something unasked"))
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.end(error.__context__ if isinstance(error.__context__, TooLong) else Broken(f"no HTTP ({error})"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if exc is None and self._to_the_end:
            self._finish()
        else:
            self._fail(Broken("the connection was closed" + (f" ({exc})" if exc else "")))

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.done():
            self.open = False  # a second reply to one request: whatever it is, the next request must not get it

    def on_status(self, reason: bytes) -> None:
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value)
        self._bound()
        self._headers[name.lower().decode("latin-1")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        bounded = "content-length" in self._headers or "transfer-encoding" in self._headers
        self._to_the_end = not bounded and self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        self._bound()
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:
            self._begin()  # 100 Continue and the like: the reply is still to come
            return
        if not self._parser.should_keep_alive():
            self.open = False
            self._transport.close()
        self._finish()

    def _begin(self) -> None:
        self._reason, self._headers, self._body, self._size = b"", {}, [], 0
        self._to_the_end = False  #: neither a length nor chunks: the reply ends with the connection

    def _bound(self) -> None:
        if self._size > self._most_bytes:
            raise TooLong(f"longer than {self._most_bytes} bytes", self._parser.get_status_code())

    def _finish(self) -> None:
        self._to_the_end = False
        if self._reply is not None and not self._reply.done():
            reason = self._reason.decode("latin-1")
            reply = Reply(self._parser.get_status_code(), reason, self._headers, b"".join(self._body))
            self._reply.set_result(reply)

    def _fail(self, error: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)
