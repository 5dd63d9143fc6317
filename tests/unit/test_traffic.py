"""The gate to an endpoint, with real requests to the fake server: places, shares, quiet, the breaker, phases."""

from __future__ import annotations

import asyncio
import random
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumos_queue.endpoints import admission
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.tgi import Tgi
from lumos_queue.errors import EndpointDown, InfrastructureError, UnclearFailure
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.loop_wait import loop_until

GREEDY = Sampling()


def connect(url, first_backoff=0.002, **changes):
    values = {"request_seconds": 30.0, "request_retries": 3, "api_keys": None, "endpoint_hosts": "", "concurrency": 64}
    values |= changes
    return Tgi(url, Settings(**values), first_backoff)


def fake(**options):
    return FakeEndpoint(lambda prompt: "fine", **{"slots": 1024} | options)


async def many(endpoint, count):
    return await asyncio.gather(
        *(endpoint.generate(ModelCall("p", GREEDY)) for _ in range(count)), return_exceptions=True
    )


def run(work, server, **options):
    """`work(endpoint)` in a loop of its own; the endpoint must be left with nothing in flight and nobody waiting."""

    async def whole():
        endpoint = connect(getattr(server, "tgi", server), **options)
        try:
            return await work(endpoint)
        finally:
            assert (endpoint.admission.in_flight, endpoint.admission.waiting) == (0, 0)
            await endpoint.close()

    return asyncio.run(whole())


def test_a_share_is_kept_to_the_request_while_it_changes():
    """Another thread changes the share, as a heartbeat does; the server counts."""

    async def work(endpoint):
        done = threading.Event()

        def heartbeat():
            chance = random.Random(3)
            while not done.wait(0.03):
                endpoint.admission.set_share(chance.choice([0, 1, 2, 5, 7]))
            endpoint.admission.set_share(3)

        endpoint.admission.set_share(7)
        beating = threading.Thread(target=heartbeat)
        beating.start()
        calls = asyncio.gather(many(endpoint, 200))
        await loop_until(lambda: server.count >= 60, "the share has changed a few times")
        assert endpoint.admission.waiting > 0
        done.set()
        beating.join()
        await loop_until(lambda: endpoint.admission.in_flight <= 3, "what was sent under an earlier share has ended")
        server.most_busy = 0
        (replies,) = await calls
        assert server.most_busy == 3
        return replies

    with fake(latency=0.02) as server:
        replies = run(work, server)
        assert server.count == 200
    assert all(reply.text == "fine" for reply in replies)


def test_with_a_share_of_nothing_requests_wait_until_there_is_one():
    async def work(endpoint):
        endpoint.admission.set_share(0)
        calls = asyncio.create_task(many(endpoint, 5))
        await loop_until(lambda: endpoint.admission.waiting == 5, "all five wait")
        await asyncio.sleep(0.1)  # which they go on doing
        assert (endpoint.admission.in_flight, endpoint.admission.waiting, server.count) == (0, 5, 0)
        threading.Thread(target=endpoint.admission.set_share, args=(None,)).start()
        return await asyncio.wait_for(calls, 30)

    with fake() as server:
        assert all(reply.waited >= 0.1 for reply in run(work, server))


def test_a_request_that_finds_a_place_has_not_waited_at_all():
    """Not even the microseconds that it takes to see that there is one. A busy machine may hold some of them up."""
    with fake() as server:
        assert 0.0 in {reply.waited for reply in run(lambda endpoint: many(endpoint, 20), server)}


def test_places_are_given_in_the_order_of_asking():
    async def work(endpoint):
        order = []

        async def one(number):
            await endpoint.generate(ModelCall(str(number), GREEDY))
            order.append(number)

        await asyncio.gather(*(one(number) for number in range(30)))
        return order

    with fake(latency=0.01) as server:
        assert run(work, server, concurrency=1) == list(range(30))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.integers(0, 4))
def test_whatever_is_cancelled_gives_its_place_back_exactly_once(seed, share):
    async def whole():
        chance, gate, inside, most = random.Random(seed), AdmissionControl("tgi://x", 4), 0, 0

        async def one():
            nonlocal inside, most
            await gate.enter()
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(chance.choice([0, 0, 0.001]))
            finally:
                inside -= 1
                gate.leave()

        gate.set_share(share)
        tasks = [asyncio.create_task(one()) for _ in range(30)]
        for _ in range(20):
            await asyncio.sleep(0)
            chance.choice(tasks).cancel()
            if chance.random() < 0.2:
                gate.set_share(chance.randint(0, 4))
            assert gate.in_flight == inside or gate.in_flight <= 4
        gate.set_share(None)
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        assert (gate.in_flight, gate.waiting, inside) == (0, 0, 0)
        assert most <= 4

    asyncio.run(whole())


def test_cancelled_requests_leave_their_places():
    async def work(endpoint):
        chance = random.Random(1)
        calls = [asyncio.create_task(endpoint.generate(ModelCall("p", GREEDY))) for _ in range(60)]
        for call in chance.sample(calls, 40):
            await asyncio.sleep(0.002)
            call.cancel()
        server.latency = 0.0
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(one, asyncio.CancelledError) for one in done) >= 30
        return (await many(endpoint, 8))[-1]

    with fake(latency=1.0) as server:  # so few are answered before they are cancelled
        assert run(work, server, concurrency=4).text == "fine"


def test_many_equal_requests_soon_fill_the_server():
    async def work(endpoint):
        for _ in range(4):  # of which a busy machine may need the others
            await many(endpoint, 1500)
            if endpoint.admission.window == 256:
                break
        return endpoint.admission.window

    with fake(latency=0.1) as server:
        assert run(work, server, concurrency=256) == 256
        assert server.most_busy == 256


def test_a_server_that_only_queues_is_not_sent_everything():
    """Without the judgement of latency the window is 1,024 after 960 replies. On a busy machine one may go astray."""

    async def work(endpoint):
        await many(endpoint, 1500)
        return endpoint.admission.window

    with fake(latency=0.03, slots=16) as server:
        assert run(work, server, concurrency=1024) < 512


def test_a_latency_that_grows_with_load_stops_the_growth():
    """Without that judgement it is 512 after 448 replies."""

    async def work(endpoint):
        await many(endpoint, 1000)
        return endpoint.admission.window

    with fake(drag=0.002) as server:
        assert run(work, server, concurrency=512) < 512


def test_429_makes_room_and_costs_no_request():
    async def work(endpoint):
        replies = await many(endpoint, 600)
        return replies, endpoint.admission.window

    with fake(latency=0.02, limit=10) as server:
        replies, window = run(work, server, concurrency=64, first_backoff=0.05, request_retries=8)
        assert server.most_busy <= 10
        assert server.count < 900, "most requests are sent once"
    assert [one for one in replies if isinstance(one, Exception)] == []
    assert window <= 21


def test_retry_after_keeps_the_whole_endpoint_quiet():
    async def work(endpoint):
        await many(endpoint, 20)
        server.failures.append("429:2")
        started, seen = time.perf_counter(), server.count
        calls = asyncio.create_task(many(endpoint, 1))
        await loop_until(lambda: endpoint.admission._paused_until, "the server has asked for quiet")
        more = asyncio.create_task(many(endpoint, 30))
        await loop_until(lambda: endpoint.admission.waiting >= 30, "the others wait")
        assert server.count == seen + 1
        replies = await calls + await more
        assert time.perf_counter() - started >= 2
        return replies

    with fake() as server:
        replies = run(work, server)
    assert replies[0].retries == 1
    assert replies[0].lost >= 2
    assert all(reply.retries == 0 and reply.waited > 0 for reply in replies[1:])


def test_a_long_quiet_is_left_to_the_worker_for_all():
    async def work(endpoint):
        endpoint.admission.set_share(1)
        failures = await many(endpoint, 5) + await many(endpoint, 5)
        assert server.count == 1
        return failures

    with fake(failures=["429:90"]) as server:
        for failure in run(work, server):
            assert type(failure) is not EndpointDown
            assert isinstance(failure, InfrastructureError)
            assert failure.retry_after == pytest.approx(90, abs=5)


@pytest.mark.parametrize("mode", ["500", "garbage", "truncated", "reset", "503"])
def test_the_breaker_opens_after_failures_in_a_row_for_all_at_once(mode):
    async def work(endpoint):
        await many(endpoint, 20)
        server.mode, seen = mode, server.count
        failures = await many(endpoint, 100)
        sent = server.count - seen
        failures += await many(endpoint, 3)
        assert server.count == seen + sent, "once it is open nothing is sent"
        return failures

    with fake(latency=0.01) as server:
        failures = run(work, server, first_backoff=0.1, request_retries=20)
        assert server.count < 250
    assert all(isinstance(failure, EndpointDown) for failure in failures)
    line = str(failures[0])
    assert server.tgi in line
    assert "is down, a request of one token failed, too; the last: http://" in line
    assert "\n" not in line


def test_an_endpoint_that_cannot_be_reached_is_down_when_one_request_has_used_its_tries():
    with fake() as server:
        url = server.tgi
    (failure,) = run(lambda endpoint: many(endpoint, 1), url)
    assert isinstance(failure, EndpointDown)
    assert "is down, 4 tries in a row failed" in str(failure)


def test_requests_in_flight_end_when_the_server_cannot_be_reached_any_more():
    """It takes no new connection, and on the open ones it never answers."""

    async def work(endpoint):
        server.mode = "hang"
        calls = asyncio.create_task(many(endpoint, 4))
        await loop_until(lambda: server.count == 4, "all are in flight")
        server._loop.call_soon_threadsafe(server._server.close)
        (last,) = await many(endpoint, 1)
        return [last, *await asyncio.wait_for(calls, 30)]

    with fake() as server:
        failures = run(work, server, request_seconds=600.0)
    assert all(isinstance(failure, EndpointDown) for failure in failures)


def test_those_asleep_and_those_waiting_hear_of_it_at_once(monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.client.MAX_BACKOFF_SECONDS", 3600.0)

    async def work(endpoint):
        endpoint.admission.set_share(2)
        server.mode = "500"
        return await asyncio.wait_for(many(endpoint, 40), 60)

    with fake() as server:
        failures = run(work, server, first_backoff=3600.0)
        assert server.count <= 40 + 1, "each was tried once, and there was a control"
    assert all(isinstance(failure, EndpointDown) for failure in failures)


class Picky(FakeEndpoint):
    """It fails whatever asks for 'bad', and serves the rest."""

    def answer(self, path, raw, *rest):
        if b'"bad"' in raw:
            self.failures.appendleft("500")
        super().answer(path, raw, *rest)


@pytest.mark.parametrize("others", [0, 4])
def test_prompts_that_always_fail_are_at_fault_themselves(others):
    """One alone, which a control shows, or three among others that succeed."""

    async def work(endpoint):
        done = asyncio.Event()

        async def rest():
            while not done.is_set():
                await endpoint.generate(ModelCall("good", GREEDY))

        running = [asyncio.create_task(rest()) for _ in range(others)]
        bad = [endpoint.generate(ModelCall("bad", GREEDY)) for _ in range(3 if others else 1)]
        failures = await asyncio.gather(*bad, return_exceptions=True)
        done.set()
        await asyncio.gather(*running)
        return failures

    with Picky(lambda prompt: "fine", latency=0.002) as server:
        failures = run(work, server, first_backoff=0.02, request_retries=4)
    assert {type(failure).__name__ for failure in failures} == {"RowFailed"}


def test_what_breaks_together_is_one_failure():
    """A server that restarts breaks all that is in flight, and is well."""

    async def work(endpoint):
        endpoint.admission.pace.start(64)
        server.latency = 30.0
        calls = asyncio.create_task(many(endpoint, 40))
        await loop_until(lambda: server.in_flight == 40, "all are in flight")
        server.latency = 0.0
        server._loop.call_soon_threadsafe(lambda: [one.transport.abort() for one in list(server.connections)])
        return await calls

    with fake(latency=0.02) as server:
        replies = run(work, server, first_backoff=0.2)
    assert all(reply.text == "fine" for reply in replies)
    assert sum(reply.retries for reply in replies) >= 2 * admission.MAX_FAILURES


def test_refusals_and_faults_of_the_request_open_nothing():
    async def work(endpoint):
        server.mode = "429"
        refused = await many(endpoint, 30)
        server.mode = "ok"
        await many(endpoint, 1)
        server.mode = "422"
        wrong = await many(endpoint, 1)
        server.mode = "ok"
        return refused, wrong, await many(endpoint, 30)

    with fake() as server:
        refused, wrong, fine = run(work, server)
    assert all(isinstance(one, InfrastructureError) and not isinstance(one, EndpointDown) for one in refused)
    assert all(isinstance(one, UnclearFailure) for one in wrong)
    assert all(one.text == "fine" for one in fine)


def test_where_the_time_went():
    async def work(endpoint):
        endpoint.admission.set_share(0)
        call = asyncio.create_task(endpoint.generate(ModelCall("p", GREEDY)))
        started = time.perf_counter()
        asyncio.get_running_loop().call_later(0.1, endpoint.admission.set_share, 1)
        reply = await call
        return reply, time.perf_counter() - started

    with fake(latency=0.1, failures=["500"]) as server:
        reply, all_of_it = run(work, server, first_backoff=0.3)
    assert reply.waited >= 0.1 and reply.lost >= 0.15 and reply.seconds >= 0.1
    assert reply.waited + reply.lost + reply.seconds <= all_of_it, "no time is counted twice"
    assert (reply.retries, reply.queued) == (1, 0)


def test_the_servers_own_queue_is_recorded():
    with fake(latency=0.1, slots=1) as server:
        replies = run(lambda endpoint: many(endpoint, 3), server)
    waits = sorted(reply.queued for reply in replies)
    assert all(wait >= 0.09 * place for place, wait in enumerate(waits))  # each waits for those before it
    assert all(reply.queued <= reply.seconds for reply in replies)
