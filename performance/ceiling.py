"""How many calls a second the fake server can answer, asked by a client that does nothing but ask."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import urlsplit

from performance.episode import prompts, request
from performance.questions import question
from performance.server import start_server


class _Asker(asyncio.Protocol):
    """Sends the same request again as soon as the reply to the last one is there."""

    def __init__(self, raw: bytes, counter: list[int]):
        self.raw, self.counted = raw, counter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.raw)

    def data_received(self, data: bytes) -> None:  # replies are short: each arrives in one piece
        self.counted[0] += 1
        self.transport.write(self.raw)


async def _ask(url: str, clients: int, seconds: float) -> float:
    body = json.dumps(request(next(prompts(question(1).text, [])))).encode()
    head = b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    address, counter = urlsplit(url), [0]
    loop = asyncio.get_running_loop()
    assert address.hostname and address.port
    for _ in range(clients):
        await loop.create_connection(lambda: _Asker(head % len(body) + body, counter), address.hostname, address.port)
    began, before = time.perf_counter(), counter[0]
    await asyncio.sleep(seconds)
    return (counter[0] - before) / (time.perf_counter() - began)


def ceiling(seconds: float = 2.0) -> float:
    """Calls a second at no latency, over 64 connections."""
    with start_server(0.0, 64) as url:
        return asyncio.run(_ask(url, 64, seconds))


if __name__ == "__main__":
    print(f"{ceiling():,.0f} calls/s")
