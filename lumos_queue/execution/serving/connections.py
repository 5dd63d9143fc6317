"""Connections of `lumos serve`, bounded for each address and in all: at a limit, the oldest is closed for a new one."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from tornado.http1connection import HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine
from tornado.iostream import IOStream

from lumos_queue.util.addresses import group_address
from lumos_queue.util.connection_counts import Connections, OpenConnection
from lumos_queue.util.connection_limits import Limits, allow_connections


class BoundedServer(HTTPServer):
    """A server with limits of connections. It raises the limit of open files to what they need."""

    def initialize(self, *args: Any, limits: Limits | None = None, **options: Any) -> None:
        super().initialize(*args, **options)
        limits = limits or Limits()
        self._open = Connections(limits.within_files(allow_connections(limits.connections)))
        self._by_stream: dict[IOStream, OpenConnection] = {}

    def handle_stream(self, stream: IOStream, address: tuple[object, ...]) -> None:
        connection = self._by_stream[stream] = OpenConnection(stream.close)
        self._open.add(connection, group_address(str(address[0])))
        super().handle_stream(stream, address)  # pyright: ignore[reportUnknownMemberType]  # a tuple without types

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        assert isinstance(server_conn, HTTP1ServerConnection)
        connection = self._by_stream[server_conn.stream]
        connection.is_answering = False
        return _Request(super().start_request(server_conn, request_conn), connection)

    def on_close(self, server_conn: object) -> None:
        super().on_close(server_conn)
        assert isinstance(server_conn, HTTP1ServerConnection)
        self._open.remove(self._by_stream.pop(server_conn.stream))


class _Request(HTTPMessageDelegate):
    """A request, which notes that it has arrived: its connection is then the last that is closed for another."""

    def __init__(self, pages: HTTPMessageDelegate, connection: OpenConnection):
        self._pages, self._connection = pages, connection

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        return self._pages.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._pages.data_received(chunk)

    def finish(self) -> None:
        self._connection.is_answering = True
        self._pages.finish()

    def on_connection_close(self) -> None:
        self._pages.on_connection_close()
