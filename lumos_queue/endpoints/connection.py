"""One connection to a model server, and one request at a time on it: HTTP/1.1, parsed by httptools (llhttp).

All bytes of a reply are counted as they arrive (also status lines, interim replies, chunk sizes), so that memory stays
bounded whatever a server sends. Compressed replies are refused: requests do not accept them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools

MAX_HEAD_BYTES = 64 * 2**10  #: of everything before a reply's body
MAX_HEADERS = 256


class Broken(Exception):
    """Raised when a reply stays incomplete, because the connection ends or the bytes are not HTTP."""


class Unreachable(Broken):
    """Raised when no connection can be made: no request was sent."""


class ForbiddenHost(Unreachable):
    """Raised when a server must not be called; the message has the reason and the remedy."""


class TooLong(Broken):
    """Raised when a reply is longer than allowed. `status`: HTTP status of the reply; 0 if it has not arrived."""

    def __init__(self, message: str, status: int):
        self.status = status
        super().__init__(message)


class HttpReply:
    """A reply: status, headers (names in lower case) and body."""

    __slots__ = ("body", "headers", "reason", "status")

    def __init__(self, status: int, reason: str, headers: dict[str, str], body: bytes):
        self.status, self.reason, self.headers, self.body = status, reason, headers, body


class Connection(asyncio.Protocol):
    """A connection to a server. The parser calls the methods that start with `on_`."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self.open = False
        self.deadline = 0.0
        self._loop = loop
        self._reply: asyncio.Future[HttpReply] | None = None

    def connection_made(self, transport: Any) -> None:  # uvloop's class is no asyncio.Transport
        self._transport: asyncio.Transport = transport
        self.open = True
        self._parser = httptools.HttpResponseParser(self)  # after a complete reply it expects the next reply

    def exchange(self, message: bytes, max_bytes: int) -> asyncio.Future[HttpReply]:
        """Send a request; return the future of its reply, which fails with TooLong if the reply exceeds `max_bytes`."""
        self._begin()
        self._remaining_bytes, self._max_bytes = max_bytes, max_bytes
        self._has_head = False
        self._reply = self._loop.create_future()
        self._transport.write(message)
        return self._reply

    def end(self, error: Exception) -> None:
        """Close the connection at once. A request in progress fails with `error`."""
        self.open = False
        self._transport.abort()
        self._fail(error)

    def data_received(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():
            self.end(Broken("the server sent something without being asked"))
            return
        self._remaining_bytes -= len(data)
        try:
            self._parser.feed_data(data if self._remaining_bytes >= 0 else data[: self._remaining_bytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.end(error.__context__ if isinstance(error.__context__, Broken) else Broken(f"not HTTP ({error})"))
            return
        if self._remaining_bytes < 0:
            self._end_long(self._max_bytes)
        elif not self._has_head and self._max_bytes - self._remaining_bytes > MAX_HEAD_BYTES:
            self._end_long(MAX_HEAD_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if exc is None and self._ends_with_connection:
            self._finish()
        else:
            self._fail(Broken("the connection was closed" + (f" ({exc})" if exc else "")))

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.done():
            self.open = False  # a second reply to one request: the next request must not get it

    def on_status(self, reason: bytes) -> None:
        if len(self._reason) < 200:
            self._reason += reason[:200]

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= MAX_HEADERS:
            raise TooLong(f"more than {MAX_HEADERS} headers", self._parser.get_status_code())
        self._headers[name.lower().decode("latin-1")] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            return  # 100 Continue and the like precede the reply's own head
        self._has_head = True
        self._ends_with_connection = not ("content-length" in self._headers or "transfer-encoding" in self._headers)
        if status < 300 and self._is_compressed:
            raise Broken("a compressed reply, which was not asked for")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if not self._has_head:
            self._begin()
            return
        if not self._parser.should_keep_alive():
            self.open = False
            self._transport.close()
        self._finish()

    @property
    def _is_compressed(self) -> bool:
        return self._headers.get("content-encoding", "identity").lower() not in ("identity", "")

    def _begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._reason, self._body = b"", bytearray()
        self._ends_with_connection = False  #: neither a length nor chunks: the reply ends with the connection

    def _end_long(self, bytes_allowed: int) -> None:
        self.end(TooLong(f"longer than {bytes_allowed} bytes", self._parser.get_status_code()))

    def _finish(self) -> None:
        self._ends_with_connection = False
        if self._reply is not None and not self._reply.done():
            reason, body = self._reason.decode("latin-1"), b"" if self._is_compressed else bytes(self._body)
            self._reply.set_result(HttpReply(self._parser.get_status_code(), reason, self._headers, body))

    def _fail(self, error: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)
