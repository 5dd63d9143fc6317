"""Several replicas of one endpoint: affinity, balance, leaving out the sick and taking them back."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time

import pytest

from lumos_queue.commands import Ask
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints import client, replicas
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.endpoints.tgi import Tgi
from lumos_queue.endpoints.urls import base_urls, model_name
from lumos_queue.episode import StepContext
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.execution.executor import Executor
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint

GREEDY = Sampling()


def settings(**changes):
    return Settings(
        **{"request_seconds": 30.0, "request_retries": 3, "api_keys": None, "endpoint_hosts": "", "concurrency": 64}
        | changes
    )


def connect(*servers, **changes):
    url = "tgi://" + ",".join(f"127.0.0.1:{getattr(server, 'port', server)}" for server in servers)
    return Tgi(url, settings(**changes), first_backoff=0.002)


@contextlib.contextmanager
def fakes(count, **options):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(FakeEndpoint(lambda prompt: "fine", slots=512, **options)) for _ in range(count)]


async def ask(endpoint, episodes):
    return await asyncio.gather(*(endpoint.generate(ModelCall("p", GREEDY, episode=episode)) for episode in episodes))


def silent_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_an_address_may_name_several_hosts():
    url = "openai://a:1,[::1]:2,c/api?model=m,n"
    check_url(url)
    assert base_urls(url) == ["http://a:1/api", "http://[::1]:2/api", "http://c/api"]
    assert model_name(url) == "m,n"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("tgi://a:1,", "No host"),
        ("tgi://a,,b", "No host"),
        ("tgi://a:1,b:x", "cannot be read"),
        ("tgi://a:1,b:1,a:1", "same replica twice"),
        ("tgi://a,me:s3cret@b", "Credentials"),
        ("openai://a,b?model=m&key=s3cret", "says more than"),
    ],
)
def test_each_host_is_checked(url, message):
    with pytest.raises(SpecError, match=message) as caught:
        check_url(url)
    assert "s3cret" not in str(caught.value)


def test_an_episode_stays_with_its_replica_and_episodes_are_spread():
    async def one_after_the_other(servers):
        endpoint = connect(*servers)
        used = []
        for number in range(30):
            before = [server.count for server in servers]
            for _ in range(3):
                await ask(endpoint, [f"episode {number}"])
            used.append([server.count - old for server, old in zip(servers, before, strict=True)])
        await endpoint.close()
        return used

    with fakes(3) as servers:
        used = asyncio.run(one_after_the_other(servers))
    assert all(sorted(counts) == [0, 0, 3] for counts in used)
    assert all(sum(column) >= 9 for column in zip(*used, strict=True)), "each replica has at least three episodes"


def test_an_episode_is_a_task_and_a_sample():
    async def steps(servers):
        endpoint = connect(*servers)
        executor = Executor({"planner": endpoint}, DOMAINS.load("maths").open_actions(), GREEDY, seed=0)
        task, used = Task("wordmath", "0" * 64, "row", "How many?"), set()
        for sample in range(20):
            before = [server.count for server in servers]
            async with executor.for_episode(task, sample) as perform:
                for position in range(3):
                    await perform(Ask("planner", f"prompt {position}"), StepContext(position, 0))
            counts = [server.count - old for server, old in zip(servers, before, strict=True)]
            assert sorted(counts) == [0, 3]
            used.add(tuple(counts))
        await executor.actions.close()
        await endpoint.close()
        return used

    with fakes(2) as servers:
        assert asyncio.run(steps(servers)) == {(0, 3), (3, 0)}


def test_a_replica_that_is_clearly_busier_hands_over():
    async def all_of_one_episode(servers):
        endpoint = connect(*servers)
        endpoint.admission.pace.start(16, 0.1)
        await ask(endpoint, ["the same"] * 16)
        await endpoint.close()

    with fakes(2, latency=0.1) as servers:
        asyncio.run(all_of_one_episode(servers))
        assert sorted(server.most_busy for server in servers)[0] >= 5


def test_requests_without_an_episode_go_to_the_least_busy():
    async def run(servers):
        endpoint = connect(*servers)
        endpoint.admission.pace.start(16, 0.1)
        await ask(endpoint, [""] * 16)
        await endpoint.close()

    with fakes(4, latency=0.1) as servers:
        asyncio.run(run(servers))
        assert [server.most_busy for server in servers] == [4, 4, 4, 4]


@pytest.mark.parametrize("mode", ["500", "reset", "truncated", "garbage", "429"])
def test_what_fails_on_one_replica_is_asked_of_another_at_once(mode, monkeypatch):
    monkeypatch.setattr(replicas, "PAUSE_SECONDS", replicas.MAX_PAUSE_SECONDS)  # no probe, however slow the machine is

    async def no_pause(seconds):
        pytest.fail(f"it waits {seconds:g} s")

    async def run(servers):
        endpoint = connect(*servers, request_retries=1)
        endpoint.admission.sleep = no_pause
        replies = [(await ask(endpoint, [f"e{number}"]))[0] for number in range(20)]
        await endpoint.close()
        return replies

    with fakes(2) as servers:
        servers[0].mode = mode
        replies = asyncio.run(run(servers))
        assert servers[1].count == 20
        if mode == "429":
            assert servers[0].count > replicas.MAX_FAILURES, "an overloaded replica is well"
        else:
            assert servers[0].count == replicas.MAX_FAILURES, "a sick replica is left out"
    assert sum(reply.retries for reply in replies) == servers[0].count
    assert all((reply.lost > 0) == (reply.retries > 0) for reply in replies)


@pytest.fixture
def clock(monkeypatch):
    """The clock of the replicas and their client, which `clock.ahead` puts forward."""

    class Clock:
        ahead = 0.0

        def perf_counter(self):
            return time.perf_counter() + self.ahead

    clock = Clock()
    monkeypatch.setattr(client, "time", clock)
    monkeypatch.setattr(replicas, "time", clock)
    return clock


def test_a_sick_replica_is_taken_back_after_a_growing_pause_by_one_request(monkeypatch, clock):
    monkeypatch.setattr(replicas, "PAUSE_SECONDS", 1000.0)
    monkeypatch.setattr(replicas, "MAX_PAUSE_SECONDS", 100_000.0)

    async def run(servers):
        endpoint = connect(*servers)
        servers[0].mode = "500"
        sick = endpoint._client.replicas.all[0]
        while not sick.out:
            await ask(endpoint, [""] * 4)
        seen = servers[0].count
        await ask(endpoint, [""] * 20)
        assert servers[0].count == seen, "nothing is sent to it"
        clock.ahead += 1100
        await ask(endpoint, [""] * 20)
        assert servers[0].count == seen + 1, "one request has tried it again"
        clock.ahead += 1100
        await ask(endpoint, [""] * 20)
        assert servers[0].count == seen + 1, "the pause has grown"
        servers[0].mode = "ok"
        clock.ahead += 1100
        await ask(endpoint, [""])
        assert not sick.out
        await ask(endpoint, [""] * 20)
        assert servers[0].count >= seen + 2 + 8
        await endpoint.close()

    with fakes(2, latency=0.02) as servers:
        asyncio.run(run(servers))


def test_a_replica_that_is_gone_costs_nothing_but_retries():
    async def run(server):
        endpoint = connect(silent_port(), server)
        identity = await endpoint.identity()
        replies = await ask(endpoint, [f"e{number}" for number in range(50)])
        await endpoint.close()
        return identity, replies

    with fakes(1) as servers:
        identity, replies = asyncio.run(run(servers[0]))
    assert identity["model_id"] == "fake"
    assert {reply.retries for reply in replies} == {0}, "identity() has found out"


def test_replicas_of_different_models_say_so():
    async def run(url):
        endpoint = open_endpoint(url, settings())
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    with FakeEndpoint(str, model="a") as one, FakeEndpoint(str, model="b") as two:
        identity = asyncio.run(run(f"tgi://127.0.0.1:{one.port},127.0.0.1:{two.port}"))
    assert (identity["model_id"], identity["version"]) == (["a", "b"], "3")


def test_no_replica_at_all_is_one_line():
    ports = [silent_port(), silent_port()]

    async def run():
        endpoint = connect(*ports)
        with pytest.raises(SpecError, match=r"nothing answers at .*start the server") as caught:
            await endpoint.identity()
        with pytest.raises(InfrastructureError):
            await endpoint.generate(ModelCall("p", GREEDY))
        await endpoint.close()
        return str(caught.value)

    assert "\n" not in asyncio.run(run())


def test_one_replica_wants_quiet_and_the_others_go_on(clock):
    async def run(servers):
        endpoint = connect(*servers)
        servers[0].mode = "429:1000"
        await ask(endpoint, [""] * 8)
        seen = servers[0].count
        servers[0].mode = "ok"
        for _ in range(5):
            await ask(endpoint, [""] * 8)
        assert servers[0].count == seen
        clock.ahead += 1001
        await ask(endpoint, [""] * 8)
        assert servers[0].count > seen
        await endpoint.close()

    with fakes(2) as servers:
        asyncio.run(run(servers))
