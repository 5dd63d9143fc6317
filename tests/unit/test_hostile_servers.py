"""Whatever a model server sends, and for however long: a call ends in time and holds a bounded number of bytes."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest
import uvloop

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings
from tests.hostile import SCRIPTS, HostileServer

SECONDS = 0.5  #: that a call may take
MOST_BYTES = 4 << 20  #: held at once by one call, everything counted


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_call_ends_in_time_and_in_bounded_memory(name, scheme, run, monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.05)
    import lumos_queue.endpoints.chat  # noqa: F401 - importing its library is not to be measured with the first call

    async def call(port: int) -> None:
        model = "" if scheme == "tgi" else "?model=m"
        endpoint = open_endpoint(
            f"{scheme}://127.0.0.1:{port}{model}",
            Settings(request_seconds=SECONDS / 2, silence_seconds=SECONDS, request_retries=0),
        )
        try:
            with pytest.raises(InfrastructureError) as caught:
                await asyncio.wait_for(endpoint.generate(ModelCall("Hello?", Sampling(max_tokens=100), 7)), 60)
            assert "\n" not in str(caught.value)
        finally:
            await endpoint.close()

    with HostileServer(SCRIPTS[name]) as server:
        tracemalloc.start()
        try:
            run(call(server.port))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    print(f"{scheme}, {name}: {peak / 2**20:.1f} MB at most, {server.sent / 2**20:.1f} MB sent")
    assert peak < MOST_BYTES


LARGE = b'{"generated_text": "%s"}' % (b"x" * (8 << 20))


def replies_of_8_mb():
    yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(LARGE)
    yield LARGE  # not joined: 64 copies would be measured, too
    yield 2.0


def test_many_replies_that_ignore_the_limit_of_tokens_are_held_one_bound_each():
    """64 calls at once: what each may hold follows from what it asked for, and from what one read gives."""

    async def calls(port: int) -> list:
        endpoint = open_endpoint(f"tgi://127.0.0.1:{port}", Settings(request_seconds=60, request_retries=0))
        try:
            asked = (
                endpoint.generate(ModelCall(f"Hello {number}?", Sampling(max_tokens=100), 7)) for number in range(64)
            )
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await endpoint.close()

    with HostileServer(replies_of_8_mb) as server:
        tracemalloc.start()
        try:
            done = asyncio.run(calls(server.port))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    print(f"64 calls: {peak / 2**20:.1f} MB at most, {server.sent / 2**20:.1f} MB sent")
    assert all(isinstance(one, InfrastructureError) for one in done)
    assert peak < 64 << 20


def test_an_answer_about_the_health_is_read_no_further_than_it_has_to_be():
    async def check(port: int) -> bool:
        endpoint = open_endpoint(f"tgi://127.0.0.1:{port}", Settings(request_seconds=5))
        try:
            return await endpoint._client.replicas.all[0].http.is_alive()
        finally:
            await endpoint.close()

    with HostileServer(SCRIPTS["an endless body"]) as server:
        tracemalloc.start()
        try:
            is_alive = asyncio.run(check(server.port))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    print(f"{peak / 2**20:.1f} MB at most, {server.sent / 2**20:.1f} MB sent")
    assert is_alive and peak < 2 << 20
