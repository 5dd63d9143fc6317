"""Whatever a model server sends, and for however long: a call ends in time and holds a bounded number of bytes."""

from __future__ import annotations

import asyncio
import time
import tracemalloc

import pytest
import uvloop

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings
from tests.hostile import SCRIPTS, HostileServer

SECONDS = 1.0
MOST_BYTES = 24 << 20  #: held at once by one call, everything counted


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_call_ends_in_time_and_in_bounded_memory(name, scheme, run):
    async def call(port: int) -> float:
        model = "" if scheme == "tgi" else "?model=m"
        endpoint = open_endpoint(
            f"{scheme}://127.0.0.1:{port}{model}", Settings(request_seconds=SECONDS, request_retries=0)
        )
        started = time.monotonic()
        try:
            with pytest.raises(InfrastructureError) as caught:
                await asyncio.wait_for(endpoint.generate("Hello?", Sampling(max_tokens=100), 7), 5 * SECONDS)
            assert "\n" not in str(caught.value)
            return time.monotonic() - started
        finally:
            await endpoint.close()

    with HostileServer(SCRIPTS[name]) as server:
        tracemalloc.start()
        try:
            took = run(call(server.port))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    print(f"{scheme}, {name}: {took:.2f} s, {peak / 2**20:.1f} MB at most, {server.sent / 2**20:.1f} MB sent")
    assert took < 2.5 * SECONDS
    assert peak < MOST_BYTES
