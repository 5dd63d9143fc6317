"""HTTP connections that are bounded in bytes and seconds, and counted for a person or an address.

uvicorn's protocol has no limits of its own: it keeps an endless head, and waits for a slow one for ever. Here a request
has limits from its first byte, which become wider when its head states a session. `check` enforces those of time; the
server calls it several times a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from lumos_queue.util.connection_counts import OpenConnection
from lumos_queue.web.access.guard import TURN
from lumos_queue.web.connections.clients import Clients
from lumos_queue.web.connections.turns import Turn, Turns

PART = 16 * 2**10  #: bytes that are parsed at once: the limit of a pipelined request is exact up to these
LOG = logging.getLogger("uvicorn.error.requests")


class RefusedRequest(Exception):
    """Raised in a callback of the parser, to stop it after a refusal."""


class BoundedProtocol(HttpToolsProtocol):
    """The connection of a client, from its acceptance on: it exists before a TLS handshake."""

    def __init__(self, clients: Clients, peer: str, config: Config, state: ServerState, app_state: dict[str, Any]):
        """`peer`: the address at the other end."""
        super().__init__(config, state, app_state)
        self.logger = LOG
        self.connection = OpenConnection(self.abort, self.check)
        self.handshake: asyncio.Task[None] | None = None  #: until `connection_made`
        self._clients, self._limits, self._peer = clients, clients.connections.limits, peer
        self._is_proxy = clients.proxies.includes(peer)
        self._received_bytes = 0  # of the request, or since the last part of a body with a session
        self._has_head = self._has_session = False  # of the request that is being received
        #: Times of the loop: for the rest of a request, for the answer, and for the end of a connection.
        self._receive_until: float | None = self.loop.time() + self._limits.request_seconds
        self._send_until: float | None = None
        self._waiting_turn: asyncio.Future[None] | None = None  # of the request that is answered next
        self._close_until: float | None = None

    def abort(self) -> None:
        """Close the connection at once, without sending the rest of the answer."""
        if self.transport is not None:
            self.transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()

    def check(self, now: float) -> None:
        """Close the connection if a time is over. `now`: the time of the loop."""
        if self.transport is None:
            return  # its handshake has its own limit
        if self.transport.is_closing():
            if self._close_until is None:
                self._close_until = now + self._seconds_to_send()
            elif _is_over(self._close_until, now):
                self.transport.abort()
        elif _is_over(self._send_until, now):
            self.transport.abort()
        elif _is_over(self._receive_until, now):
            if self._received_bytes or self._has_head:
                self._refuse(408, "This request has not arrived in time.")
            else:
                self.transport.close()

    # Called by the transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.connections.remove(self.connection)
        if self._waiting_turn:
            self._waiting_turn.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._receive_until is None and (self.cycle is None or self.cycle.response_complete):
            self._receive_until = self.loop.time() + self._limits.request_seconds
        start = 0
        while start < len(data) and not self.transport.is_closing():
            size = min(self._limits.request_bytes - self._received_bytes, PART)
            if size <= 0:
                kind, status = ("body", 413) if self._has_head and not self._has_session else ("head", 431)
                self._refuse(status, f"The {kind} of this request is too large.")
                return
            part = data[start : start + size]
            start += len(part)
            self._received_bytes += len(part)
            super().data_received(part)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._send_until = self.loop.time() + self._seconds_to_send()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._send_until = None

    # Called by the parser

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= self._limits.pipeline:
            self._stop(429, "Too many requests wait for their answers.")
        if self._receive_until is None:
            self._receive_until = self.loop.time() + self._limits.request_seconds
        self._has_head = self._has_session = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # behind a body: not a header of the request
        if len(self.headers) >= self._limits.headers:
            self._stop(431, f"A request has at most {self._limits.headers} headers.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._has_head = True
        session = self._clients.find_session(self.headers)
        if session is None:
            holder, turns = self._clients.group_of_request(self._peer, self.headers), self._clients.stranger_turns
            self._clients.connections.assign_address(self.connection, holder)
        elif self._clients.connections.assign_person(self.connection, session.person):
            holder, turns, self._has_session = session.person, self._clients.people_turns, True
            self._receive_until = self.loop.time() + self._limits.body_seconds
        else:
            self._stop(503, "You have too many connections: close some pages.")
        self.scope["extensions"] = {TURN: {"take": partial(self._take_turn, turns, holder)}}
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self._has_session:
            self._received_bytes = 0  # the guard limits the body; what is between its parts remains bounded here
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._received_bytes, self._receive_until = 0, None
        self.connection.is_answering = not self.cycle.response_complete
        super().on_message_complete()

    # Called by an answer that is complete

    def on_response_complete(self) -> None:
        self.connection.is_answering = bool(self.pipeline)
        if not self.pipeline and self.cycle.more_body:
            self.transport.close()  # the rest of the body would be parsed to no purpose
        elif not self.pipeline and self._is_proxy:
            self._clients.connections.assign_address(self.connection, "")
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This request is not HTTP.")

    async def _take_turn(self, turns: Turns, holder: str) -> Callable[[], None] | None:
        """Wait for the turn of a request. Return a function that ends it; None if the sender has left."""
        waiting = self._waiting_turn = self.loop.create_future()
        if self.transport.is_closing():
            return None

        def start() -> None:
            if not waiting.done():
                waiting.set_result(None)

        turn = Turn(holder, start)
        turns.take(turn)
        try:
            await waiting
        except asyncio.CancelledError:
            turns.end(turn)
            if not self.transport.is_closing():
                raise  # the server stops
            return None
        return partial(turns.end, turn)

    def _stop(self, status: int, text: str) -> NoReturn:
        self._refuse(status, text)
        raise RefusedRequest

    def _refuse(self, status: int, text: str) -> None:
        """Answer a request that is not passed on, or not in full, and close the connection."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        is_its_own = cycle is not None and not self.pipeline and cycle.more_body and not cycle.response_started
        if cycle is None or cycle.response_complete or is_its_own:
            self.transport.write(_format_answer(status, text))
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()

    def _seconds_to_send(self) -> float:
        return self._limits.answer_seconds + self.transport.get_write_buffer_size() / self._limits.answer_rate


def _is_over(end: float | None, now: float) -> bool:
    return end is not None and now > end


def _format_answer(status: int, text: str) -> bytes:
    body = f"{text}\n".encode()
    retry = b"retry-after: 10\r\n" if status == 503 else b""
    return (
        STATUS_LINE[status] + b"content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\n"
        b"cache-control: no-store\r\nconnection: close\r\n" + retry + b"content-length: %d\r\n\r\n" % len(body) + body
    )
