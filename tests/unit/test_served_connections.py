"""Connections of `lumos serve`: their limit for an address, and the ends of those that are slow or idle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from lumos_queue.execution.serving.connections import BoundedServer
from lumos_queue.util.connection_limits import Limits

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
SECONDS = 60  #: that an answer may take


class Events:
    """What a test waits for, and sets."""

    def __init__(self) -> None:
        self.arrival, self.answer = asyncio.Event(), asyncio.Event()


class Echo(RequestHandler):
    """Answers at once to GET; to POST after an event."""

    def initialize(self, events: Events) -> None:
        self._events = events

    def get(self) -> None:
        self.write("here")

    async def post(self) -> None:
        self._events.arrival.set()
        await self._events.answer.wait()
        self.write("later")


def serve(use: Callable[[Callable[..., Awaitable[Stream]], Events], Awaitable[None]], **options: Any) -> None:
    """Call `use` with a function that opens connections to a server, and the events of its POST."""

    async def main() -> None:
        listener, port = bind_unused_port(address="127.0.0.1")
        events, writers = Events(), []
        server = BoundedServer(Application([("/", Echo, {"events": events})], log_function=lambda _: None), **options)
        server.add_socket(listener)

        async def open_stream(data: bytes = b"", source: str = "127.0.0.1") -> Stream:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
            writers.append(writer)
            writer.write(data)
            return reader, writer

        async with asyncio.timeout(SECONDS):
            await use(open_stream, events)
            for writer in writers:
                writer.close()
            server.stop()
            await server.close_all_connections()

    asyncio.run(main())


def test_the_oldest_connection_of_an_address_is_closed_for_a_new_one():
    async def use(open_stream: Callable[..., Awaitable[Stream]], events: Events) -> None:
        body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
        answer, elsewhere = await open_stream(body), await open_stream(source="127.0.0.2")
        await events.arrival.wait()
        oldest, idle, new = await open_stream(), await open_stream(), await open_stream(GET)
        assert (await new[0].readuntil(b"here")).startswith(b"HTTP/1.1 200")
        assert await oldest[0].read() == b""
        for reader, writer in (elsewhere, idle):
            writer.write(GET)
            await reader.readuntil(b"here")
        events.answer.set()
        assert await answer[0].readuntil(b"later"), "a request that has arrived is closed last"

    serve(use, limits=Limits(of_address=3))


def test_silent_connections_slow_heads_and_slow_bodies_end():
    async def use(open_stream: Callable[..., Awaitable[Stream]], events: Events) -> None:
        body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"
        streams = [await open_stream(data) for data in (b"", b"GET / HTTP/1.1\r\nX: y", b"\r\n", body, GET)]
        for reader, _ in streams:
            data = await reader.read()
            assert data.count(b"here") == (reader is streams[-1][0])

    serve(use, idle_connection_timeout=0.2, body_timeout=0.2)
