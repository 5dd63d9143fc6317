"""Which failures say that fewer requests at once would help: the next ones are then fewer."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.window import FIRST
from lumos_queue.errors import InfrastructureError
from tests.fake_endpoint import FakeEndpoint
from tests.unit.test_traffic import GREEDY, connect


def window_after(mode: str, **options) -> tuple[int, int]:
    """Requests at once that an endpoint is believed to serve well: at first, and after one try that fails so."""

    async def body(url: str) -> tuple[int, int]:
        endpoint = connect(url, request_retries=0, **options)
        before = endpoint.admission.window
        with pytest.raises(InfrastructureError):
            await endpoint.generate(ModelCall("p", GREEDY))
        after = endpoint.admission.window
        await endpoint.close()
        return before, after

    with FakeEndpoint(lambda _: "fine", mode=mode) as server:
        return asyncio.run(body(server.tgi))


@pytest.mark.parametrize("mode", ["429", "503", "504", "524"])
def test_a_server_without_a_place_or_without_time_is_sent_less(mode):
    assert window_after(mode) == (FIRST, 1)


def test_a_server_that_is_late_is_sent_as_much_as_before():
    assert window_after("hang", request_seconds=0.1, silence_seconds=0.2) == (FIRST, FIRST)


@pytest.mark.parametrize("mode", ["500", "502", "408", "425", "reset", "truncated", "garbage"])
def test_a_server_that_fails_otherwise_is_sent_as_much_as_before(mode):
    assert window_after(mode) == (FIRST, FIRST)
