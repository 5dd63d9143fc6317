"""The HTTP client of the hot path against servers that say exactly what a test wants them to say."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable, Callable

import aiohttp.web
import pytest
import uvloop

from lumos_queue.endpoints.connection import Broken, TooLong, Unreachable
from lumos_queue.endpoints.connections import Connections
from tests.loop_wait import loop_until

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return head, await reader.readexactly(length)


class Server:
    """A TCP server that reads requests and answers each with what `answer` writes; counts connections."""

    def __init__(self, answer: Answer):
        self.answer, self.connections, self.requests = answer, 0, []

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                self.requests.append(await read_request(reader))
                await self.answer(reader, writer, len(self.requests))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def says(*pieces: bytes, then_close: bool = False) -> Answer:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _number: int) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        if then_close:
            writer.close()

    return answer


def has_open(connections: Connections) -> bool:
    """Whether it keeps a connection that can be used again."""
    return any(connection.open for connection in connections._idle)


OK = b"HTTP/1.1 200 OK\r\nX-Queue-Time: 7\r\nContent-Length: 4\r\n\r\nfine"


def run(answer: Answer, use: Callable[[Connections, Server], Awaitable[None]], most_bytes: int = 10_000) -> None:
    async def body() -> None:
        async with Server(answer) as server:
            connections = Connections(server.base + "/prefix", {"Authorization": "Bearer k"}, 30.0, most_bytes)
            try:
                await asyncio.wait_for(use(connections, server), 60)
            finally:
                connections.close()

    asyncio.run(body())


def test_a_request_has_a_head_and_a_body_and_a_reply_has_all_its_parts():
    async def use(connections, server):
        reply = await connections.request("POST", "/generate", b'{"a": 1}', 30)
        assert (reply.status, reply.reason, reply.body) == (200, "OK", b"fine")
        assert reply.headers == {"x-queue-time": "7", "content-length": "4"}
        ((head, body),) = server.requests
        assert head.startswith(b"POST /prefix/generate HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"\r\nAuthorization: Bearer k\r\n" in head
        assert body == b'{"a": 1}'

    run(says(OK), use)


def test_connections_are_kept_and_one_is_opened_for_each_request_in_flight():
    async def use(connections, server):
        for _ in range(5):
            await connections.request("POST", "/", b"", 30)
        assert server.connections == 1
        await asyncio.gather(*(connections.request("POST", "/", b"", 30) for _ in range(8)))
        assert server.connections == 8
        await asyncio.gather(*(connections.request("POST", "/", b"", 30) for _ in range(8)))
        assert server.connections == 8

    run(says(OK), use)


@pytest.mark.parametrize(
    "pieces",
    [
        [OK[:10], OK[10:40], OK[40:-2], OK[-2:]],
        [bytes([byte]) for byte in OK],
        [b"HTTP/1.1 100 Continue\r\n\r\n", OK],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n", b"2\r\nne\r\n0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nfine\r\n0\r\nTrailer: 1\r\n\r\n"],
    ],
    ids=["pieces", "bytes", "continue", "chunks", "trailer"],
)
def test_a_reply_may_come_in_any_form_and_leaves_the_connection_usable(pieces):
    async def use(connections, server):
        for _ in range(3):
            assert (await connections.request("POST", "/", b"", 30)).body == b"fine"
        assert server.connections == 1

    run(says(*pieces), use)


def test_without_length_or_chunks_the_reply_ends_with_the_connection():
    async def use(connections, server):
        for _ in range(2):
            assert (await connections.request("POST", "/", b"", 30)).body == b"fine and more"
        assert server.connections == 2

    run(says(b"HTTP/1.1 200 OK\r\n\r\nfine", b" and more", then_close=True), use)


def test_a_server_that_wants_no_connection_kept_gets_a_new_one():
    async def use(connections, server):
        for _ in range(3):
            assert (await connections.request("POST", "/", b"", 30)).status == 503
        assert server.connections == 3

    run(says(b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), use)


@pytest.mark.parametrize(
    "wrong",
    [
        OK[:-2],  # half a body
        OK[:20],  # half a head
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfin",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: minus one\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nabc",
        b"",
    ],
)
def test_a_reply_that_is_cut_off_or_no_http_is_broken(wrong):
    async def use(connections, _server):
        with pytest.raises(Broken):
            await connections.request("POST", "/", b"", 30)

    run(says(wrong, then_close=True), use)


@pytest.mark.parametrize(
    "long",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + b"x" * 20_000,
        b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n",
    ],
)
def test_a_reply_longer_than_allowed_is_refused_before_its_end(long):
    async def use(connections, _server):
        with pytest.raises(TooLong, match="longer than 10000 bytes") as caught:
            await connections.request("POST", "/", b"", 30)

        assert caught.value.status == 200

    run(says(long), use)


def test_a_time_out_ends_the_request_and_its_connection():
    async def answer(_reader, writer, number):
        if number > 1:
            writer.write(OK)

    async def use(connections, server):
        loop = asyncio.get_running_loop()
        started = loop.time()
        with pytest.raises(TimeoutError):
            await connections.request("POST", "/", b"", 0.2)
        assert loop.time() - started > 0.15
        assert (await connections.request("POST", "/", b"", 30)).body == b"fine"
        assert server.connections == 2

    run(answer, use)


def test_an_early_deadline_is_seen_beside_late_ones():
    async def answer(_reader, _writer, _number):
        await asyncio.sleep(30)

    async def use(connections, server):
        late = asyncio.create_task(connections.request("POST", "/", b"", 600))
        await loop_until(lambda: server.requests, "the first is sent")
        with pytest.raises(TimeoutError):
            await connections.request("POST", "/", b"", 0.1)
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late

    run(answer, use)


def test_a_cancelled_request_leaves_nothing_behind_for_the_next():
    cancelled, answered = asyncio.Event(), asyncio.Event()

    async def answer(_reader, writer, number):
        if number == 1:
            await cancelled.wait()
        body = str(number).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + body)
        answered.set()

    async def use(connections, server):
        task = asyncio.create_task(connections.request("POST", "/", b"", 30))
        await loop_until(lambda: server.requests, "it is sent")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.set()
        await answered.wait()
        assert (await connections.request("POST", "/", b"", 30)).body == b"2"

    run(answer, use)


def test_a_kept_connection_that_the_server_has_closed_is_replaced():
    async def use(connections, server):
        for expected in range(1, 6):
            assert (await connections.request("POST", "/", b"", 30)).body == b"fine"
            assert server.connections == expected
            await loop_until(lambda: not has_open(connections), "the server has closed it")

    run(says(OK, then_close=True), use)


def test_a_connection_is_not_used_again_after_a_failure_of_the_server():
    async def answer(_reader, writer, number):
        writer.write(OK if number != 2 else b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        if number == 2:
            writer.close()  # without a word about it in the reply

    async def use(connections, server):
        assert [(await connections.request("POST", "/", b"", 30)).status for _ in range(4)] == [200, 500, 200, 200]
        assert server.connections == 2

    run(answer, use)


def test_a_request_that_was_cut_off_is_not_sent_again_by_itself():
    """It may have cost a model call: whoever counts calls and failures has to know."""

    async def answer(_reader, writer, number):
        if number == 2:
            writer.transport.abort()
        else:
            writer.write(OK)

    async def use(connections, server):
        await connections.request("POST", "/", b"", 30)
        with pytest.raises(Broken, match="closed"):
            await connections.request("POST", "/", b"", 30)
        assert len(server.requests) == 2

    run(answer, use)


EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


@pytest.mark.parametrize("pieces", [[OK, EVIL], [OK + EVIL], [OK + EVIL[:30], EVIL[30:]]])
def test_bytes_nobody_asked_for_do_not_become_the_next_reply(pieces):
    async def use(connections, server):
        assert (await connections.request("POST", "/", b"", 30)).body == b"fine"
        await loop_until(lambda: not has_open(connections), "the other bytes have come")
        assert (await connections.request("POST", "/", b"", 30)).body == b"fine"
        assert server.connections == 2

    run(says(*pieces), use)


def test_nobody_listening_is_unreachable():
    async def body() -> None:
        with pytest.raises(Unreachable, match="no connection"):
            await Connections("http://127.0.0.1:1", {}, 1.0, 1000).request("GET", "/", b"", 30)

    asyncio.run(body())


def test_closing_ends_requests_in_flight():
    async def answer(_reader, _writer, _number):
        await asyncio.sleep(30)

    async def use(connections, server):
        task = asyncio.create_task(connections.request("POST", "/", b"", 30))
        await loop_until(lambda: server.requests, "it is sent")
        connections.close()
        with pytest.raises(Broken, match="closed"):
            await task

    run(answer, use)


def test_large_bodies_go_both_ways():
    async def answer(_reader, writer, _number):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b"y" * 3_000_000)

    async def use(connections, server):
        reply = await connections.request("POST", "/", b"x" * 2_000_000, 10)
        assert len(reply.body) == 3_000_000
        assert len(server.requests[0][1]) == 2_000_000

    run(answer, use, most_bytes=8_000_000)


@pytest.mark.parametrize("run_on", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_tls_is_checked(tmp_path, monkeypatch, run_on):
    """A certificate of an authority that is trusted will do, any other will not."""
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-keyout",
            tmp_path / "key.pem",
            "-out",
            tmp_path / "cert.pem",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ],
        check=True,
        capture_output=True,
    )

    async def body(trusted: bool) -> None:
        async def reply(request: aiohttp.web.Request) -> aiohttp.web.Response:
            return aiohttp.web.json_response({"path": request.path, "got": await request.text()})

        application = aiohttp.web.Application()
        application.router.add_post("/v1/completions", reply)
        runner = aiohttp.web.AppRunner(application)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        site = aiohttp.web.TCPSite(runner, "localhost", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        connections = Connections(f"https://localhost:{port}", {}, 5.0, 10_000)
        try:
            if trusted:
                for _ in range(2):
                    answer = await connections.request("POST", "/v1/completions", b"hello", 5)
                    assert b'"got": "hello"' in answer.body
            else:
                with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
                    await connections.request("POST", "/v1/completions", b"hello", 5)
        finally:
            connections.close()
            await runner.cleanup()

    run_on(body(trusted=False))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    run_on(body(trusted=True))
