"""Late requests: a slow server is waited for, and one that is gone, or has lost a request, is not."""

from __future__ import annotations

import asyncio
import time

import pytest

from lumos_queue.endpoints import flights, http
from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.window import FIRST
from lumos_queue.errors import EndpointDown
from tests.fake_endpoint import FakeEndpoint
from tests.loop_wait import loop_until
from tests.unit.test_traffic import GREEDY, many, run


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """The health of a late server is asked for often."""
    monkeypatch.setattr(flights, "HEALTH_SECONDS", 0.05)
    monkeypatch.setattr(http, "PROBE_SECONDS", 0.2)


def fake(**options):
    return FakeEndpoint(lambda prompt: "fine", **options)


def test_late_requests_are_sent_once_and_their_replies_count():
    """Four slots of 0.4 s and twelve requests: the last ones take twelve times as long as a request should."""

    async def work(endpoint):
        return await many(endpoint, 12)

    with fake(slots=4, latency=0.4) as server:
        replies = run(work, server, request_seconds=0.1)
        assert server.count == 12
    assert [(reply.text, reply.retries) for reply in replies] == [("fine", 0)] * 12
    assert max(reply.seconds for reply in replies) > 0.4


@pytest.mark.parametrize("status", [200, 404, 503])
def test_any_answer_to_a_request_for_its_health_means_that_a_server_is_alive(status):
    async def work(endpoint):
        asking = asyncio.create_task(endpoint.generate(ModelCall("p", GREEDY)))
        await loop_until(lambda: endpoint.admission.report().late == 1, "the request is late")
        await asyncio.sleep(1.0)  # longer than three requests for the health take
        assert not asking.done()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    with fake(mode="hang", health=status) as server:
        run(work, server, request_seconds=0.05)


def test_a_server_that_does_not_answer_for_its_health_is_down():
    async def work(endpoint):
        return await many(endpoint, 3)

    with fake(mode="hang", health=None) as server:
        failures = run(work, server, request_seconds=0.05, request_retries=0)
        assert server.count == 3
    assert all(isinstance(failure, EndpointDown) for failure in failures)
    assert "no answer, and none to 3 requests for its health" in str(failures[0])


def test_a_request_that_was_overtaken_is_sent_again():
    async def work(endpoint):
        lost = asyncio.create_task(endpoint.generate(ModelCall("lost", GREEDY)))
        await loop_until(lambda: server.count == 1, "it is sent")
        for _ in range(FIRST - 1):
            await endpoint.generate(ModelCall("p", GREEDY))
        await asyncio.sleep(0.3)
        assert not lost.done(), "fewer have overtaken it than the window has slots"
        while not lost.done():
            await endpoint.generate(ModelCall("p", GREEDY))
        return await lost

    with fake(failures=["hang"]) as server:
        reply = run(work, server, request_seconds=0.1)
    assert (reply.text, reply.retries) == ("fine", 1)


def test_a_request_among_others_as_slow_is_not_overtaken():
    async def work(endpoint):
        endpoint.admission.pace.start(64, 0.0)
        return await many(endpoint, 64)

    with fake(latency=0.3, failures=["slow:0.5"]) as server:
        replies = run(work, server, request_seconds=0.1)
        assert server.count == 64
    assert sum(reply.retries for reply in replies) == 0


@pytest.mark.parametrize("answered", [0.0, 500.0, 900.0])
def test_silence_is_measured_since_the_latest_answer(answered):
    """A request has waited for 1,000 s, others were answered `answered` s ago; 600 s of silence are allowed."""

    async def body() -> str:
        looks = []
        watched = flights.Flights(0.02, 600.0, lambda: 8, always, lambda: looks.append(None))
        now = time.perf_counter()
        flight = watched.begin(now - 1000)
        if answered:
            watched.note_answer(now - answered - 1, now - answered)
        try:
            await loop_until(lambda: len(looks) > 3, "it is looked at")
        except asyncio.CancelledError:
            assert flight.take_back()
        watched.end(flight)
        watched.close()
        return flight.reason

    async def always() -> bool:
        return True

    assert asyncio.run(body()) == ("" if answered == 500.0 else "the server has answered nothing for 600 s")


def test_a_task_that_others_cancel_too_stays_cancelled():
    async def send() -> None:
        flight = flights.Flight(time.perf_counter())
        sent.append(flight)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if not flight.take_back():
                raise

    async def body(*cancelled: bool) -> list[bool]:
        tasks = [asyncio.create_task(send()) for _ in cancelled]
        await asyncio.sleep(0)
        for task, flight, by_others in zip(tasks, sent, cancelled, strict=True):
            flight.cancel("it is late")
            if by_others:
                task.cancel()
        await asyncio.wait(tasks)
        return [task.cancelled() for task in tasks]

    sent: list[flights.Flight] = []
    assert asyncio.run(body(False, True)) == [False, True]


def test_while_a_request_is_late_the_window_keeps_its_size():
    async def work(endpoint):
        replies = await many(endpoint, 4 * FIRST)
        return replies, endpoint.admission.window

    with fake(latency=0.2) as server:
        _, prompt = run(work, server, request_seconds=5.0)
    with fake(latency=0.2) as server:
        replies, late = run(work, server, request_seconds=0.1)
        assert server.most_busy == FIRST
    assert prompt > FIRST and late == FIRST
    assert all(reply.text == "fine" for reply in replies)
