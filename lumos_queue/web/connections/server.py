"""A server that accepts connections itself: uvicorn bounds no TLS handshake, and knows no address before its end."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from lumos_queue.errors import SpecError
from lumos_queue.util.connection_limits import BACKLOG
from lumos_queue.web.connections.clients import Clients
from lumos_queue.web.connections.protocol import LOG, BoundedProtocol

PAUSE_SECONDS = 0.05  #: after a connection that the system could not accept
MAX_ACCEPTS = 32  #: connections that are accepted between two rounds of the event loop
CHECK_TICKS = 2  #: tenths of a second between two checks of the times of connections


class BoundedServer(uvicorn.Server):
    """Serves with `BoundedProtocol`, on any event loop."""

    def __init__(
        self, config: uvicorn.Config, clients: Clients, tls: ssl.SSLContext | None, end_pages: Callable[[], None]
    ):
        """`end_pages`: ends live pages, before the server waits for the open answers."""
        super().__init__(config)
        LOG.setLevel(logging.ERROR)  # no line for each broken request
        self._clients, self._tls, self._end_pages = clients, tls, end_pages
        self._handshakes: set[asyncio.Task[None]] = set()  # the loop refers to tasks only weakly
        self._is_stopped = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        for listener in sockets or ():
            listener.setblocking(False)
            listener.listen(BACKLOG)
            self._listen(listener)

    async def on_tick(self, counter: int) -> bool:
        if counter % CHECK_TICKS == 0:
            now = asyncio.get_running_loop().time()
            for connection in self._clients.connections:
                if connection.check:
                    connection.check(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._is_stopped = True
        for listener in sockets or ():
            asyncio.get_running_loop().remove_reader(listener)
        for connection in self._clients.connections:
            if not connection.person and not connection.is_answering:
                connection.close()
        self._end_pages()
        await super().shutdown(sockets)

    def _accept(self, listener: socket.socket) -> None:
        """Accept connections, a few at once, so that others are closed for them and answers continue in a flood."""
        for _ in range(MAX_ACCEPTS):
            try:
                client_socket, peer = listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # the client has left
                continue
            except OSError:  # the process or the system has too many files
                loop = asyncio.get_running_loop()
                loop.remove_reader(listener)
                loop.call_later(PAUSE_SECONDS, self._listen, listener)
                return
            client_socket.setblocking(False)
            self._open(client_socket, peer[0])

    def _listen(self, listener: socket.socket) -> None:
        if not self._is_stopped:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _open(self, client_socket: socket.socket, peer: str) -> None:
        state = self.lifespan.state
        protocol = BoundedProtocol(self._clients, peer, self.config, self.server_state, state)
        task = protocol.handshake = asyncio.create_task(self._connect(protocol, client_socket))
        self._handshakes.add(task)

        def forget(_: asyncio.Task[None]) -> None:
            self._handshakes.discard(task)
            protocol.handshake = None
            if protocol.transport is None:  # it failed, or was cancelled, perhaps before it began
                self._clients.connections.remove(protocol.connection)
                client_socket.close()

        task.add_done_callback(forget)
        self._clients.connections.add(protocol.connection, self._clients.group_of_peer(peer))

    async def _connect(self, protocol: BoundedProtocol, client_socket: socket.socket) -> None:
        limits, options = self._clients.connections.limits, {}
        if self._tls:
            options = {"ssl_handshake_timeout": limits.request_seconds, "ssl_shutdown_timeout": limits.shutdown_seconds}
        with suppress(OSError):  # also a handshake that fails or takes too long
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, client_socket, ssl=self._tls, **options
            )


def make_tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS settings of a server. Raises SpecError for files that are not a certificate and its key."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise SpecError(
            f"'{certificate}' and '{key}' are no certificate and its key: {problem}. Give files in PEM format."
        ) from None
    return context
