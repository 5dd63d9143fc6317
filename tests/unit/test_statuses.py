"""What each status means, and what evidence makes of refusals."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.evidence import Evidence
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.http import RequestRefused, refusal
from lumos_queue.endpoints.statuses import CAUSES, explain
from lumos_queue.endpoints.tgi import Tgi
from lumos_queue.errors import EndpointDown, EpisodeError, SpecError, UnclearFailure
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.loop_wait import loop_until
from tests.unit.test_endpoints_replicas import GREEDY

RETRIED = {408, 424, 425, 429, *range(500, 600)}


def test_each_status_is_tried_again_or_refuses():
    for status in (100, 101, 199, *range(300, 700), 999):
        error = refusal("http://h:1/generate", status, {}, b"no", "-")
        assert type(error) is (TryFailed if status in RETRIED else RequestRefused), status
        assert error.status == status


@pytest.mark.parametrize("status", [*CAUSES, 300, 302, 308, 418, 600])
def test_an_outage_is_one_line_with_host_status_cause_and_remedy(status):
    line = explain("http://me:s3cret@host:8080/v1/completions", status, answer='{"detail": "x"}')
    assert line.startswith(f"host:8080 answered {status}")
    assert ": " in line and "; " in line and "\n" not in line
    assert "s3cret" not in line


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://me:s3cret@other:9/generate?key=s3cret#s3cret", "write https://other:9/generate as"),
        ("/v2/generate", "write /v2/generate as"),
        ("", "write the address of the server itself as"),
        ("http://[", "write the address of the server itself as"),
        ("http://a/\x1b[31m\n" + "b" * 9999, "write http://a/[31mbb"),
    ],
)
def test_a_redirect_names_where_without_secrets(location, shown):
    line = explain("http://host:8080/generate", 301, location)
    assert "301 Moved Permanently" in line and shown in line
    assert "s3cret" not in line and len(line) < 500 and line.isprintable()


def test_a_try_counts_between_two_answers_to_others():
    known = Evidence()
    for at in (10.0, 20.0, 30.0):
        known.note_answer("other", at - 2)
        assert known.is_serving_others("item") and not known.blames("item", 400)
        known.note_refusal("item", True, at)
        known.note_answer("other", at - 1)  # sent before the refusal had come
        assert known.is_open("item") and not known.is_serving_others("item")
        known.note_answer("other", at + 1)
        assert not known.is_open("item")
    assert known.blames("item", 400)


@pytest.mark.parametrize("spoiled", ["no answer before", "own answer between", "own answer before"])
def test_what_is_no_evidence_does_not_count(spoiled):
    known = Evidence()
    if spoiled == "own answer before":
        known.note_answer("item", 0.0)
        assert not known.is_serving_others("item")
    for at in (10.0, 20.0, 30.0):
        known.note_refusal("item", known.is_serving_others("item"), at)
        if at == 20.0 and spoiled == "own answer between":
            known.note_answer("item", at + 1)
        known.note_answer("other", at + 2)
    assert not known.blames("item", 400)


def test_one_refusal_of_one_item_is_lone_and_a_second_is_not():
    known = Evidence()
    known.note_answer("other", 0.0)
    known.note_refusal("item", True, 1.0)
    assert known.is_lone("item")
    known.note_refusal("another", True, 2.0)
    assert not known.is_lone("item") and not known.is_lone("another")
    known.note_answer("other", 3.0)
    known.note_refusal("item", True, 4.0)
    assert known.is_lone("item")
    known.note_refusal("item", False, 5.0)
    assert not known.is_lone("item"), "nobody was answered in between"


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.2)


def run(work, *servers, **settings):
    """`work` with an endpoint of these servers."""
    values = {"request_seconds": 30.0, "request_retries": 2, "api_keys": None, "endpoint_hosts": ""}
    values |= {"concurrency": 64} | settings
    url = "tgi://" + ",".join(f"127.0.0.1:{server.port}" for server in servers)

    async def body():
        endpoint = Tgi(url, Settings(**values), first_backoff=0.002)
        try:
            return await work(endpoint)
        finally:
            await endpoint.close()

    return asyncio.run(body())


async def ask(endpoint, prompts, name="e"):
    """Each prompt for an episode of its own; the replies, or the errors."""
    calls = [endpoint.generate(ModelCall(prompt, GREEDY, episode=f"{name}{at}")) for at, prompt in enumerate(prompts)]
    return await asyncio.gather(*calls, return_exceptions=True)


def test_one_of_two_replicas_refuses_and_nothing_is_lost(soon):
    async def work(endpoint):
        for turn in range(4):
            replies = await ask(endpoint, ["p"] * 30, f"e{turn}")
            assert {reply.text for reply in replies} == {"fine"}
        return endpoint._client.replicas.all[0].out

    with FakeEndpoint(lambda _: "fine", mode="401") as sick, FakeEndpoint(lambda _: "fine", latency=0.01) as well:
        assert run(work, sick, well)
        assert well.count == 120 and sick.count <= 30


def test_an_endpoint_that_refuses_everybody_is_down_and_says_why(soon):
    async def work(endpoint):
        await ask(endpoint, ["p"])
        server.mode = "301:http://elsewhere/generate"
        outcomes = await ask(endpoint, ["p"] * 30)
        assert server.count == 32, "one control for all"
        return [*outcomes, *await ask(endpoint, ["p"])]

    with FakeEndpoint(lambda _: "fine") as server:
        outcomes = run(work, server)
        assert server.count == 32, "it is not asked any more"
    assert {type(one) for one in outcomes} == {EndpointDown}
    assert {one.status for one in outcomes} == {301}
    assert all("write http://elsewhere/generate" in str(one) for one in outcomes)


def test_a_wrong_request_among_others_is_its_own_fault(soon):
    async def work(endpoint):
        async def others():
            while True:
                await ask(endpoint, ["p"] * 4)

        going = asyncio.create_task(others())
        await loop_until(lambda: server.count >= 8, "the first four are answered")
        (failure,) = await ask(endpoint, ["wrong"], "wrong")
        going.cancel()
        return failure, endpoint._client.replicas.all[0].out

    with FakeEndpoint(lambda prompt: 404 if prompt == "wrong" else "fine", latency=0.02) as server:
        failure, out = run(work, server)
    assert isinstance(failure, EpisodeError) and failure.ending == "infra_error" and "answered 404: " in str(failure)
    assert not out


def test_what_drains_after_an_outage_began_is_no_evidence(soon):
    """Requests under way when every new one is refused are answered for a while yet."""

    async def work(endpoint):
        await ask(endpoint, ["p"] * 4, "before")
        latencies = [0.1, 0.2, 0.3, 0.4, 0.5]
        draining = []
        for at, server.latency in enumerate(latencies):
            arrived = server.count + 1
            draining.append(asyncio.create_task(ask(endpoint, ["p"], f"drains{at}")))
            await loop_until(lambda: server.count == arrived, "it has come, or it would be refused too")  # noqa: B023
        server.mode = "404"
        refused = await ask(endpoint, ["p"])
        return refused, [one for task in draining for one in await task]

    with FakeEndpoint(lambda _: "fine") as server:
        refused, drained = run(work, server)
    assert [type(one) for one in refused] == [UnclearFailure]
    assert {one.text for one in drained} == {"fine"}


@pytest.mark.parametrize("status", [301, 401, 404])
def test_who_asks_an_endpoint_that_refuses_learns_the_status(status):
    with FakeEndpoint(lambda _: "fine") as server:
        server.about = lambda path: (status, {})
        with pytest.raises(SpecError) as caught:
            run(lambda endpoint: endpoint.identity(), server)
    assert isinstance(caught.value, EndpointDown) and caught.value.status == status


def test_one_wrong_request_leaves_no_replica_out(soon):
    async def work(endpoint):
        await ask(endpoint, ["p"] * 20)
        (failure,) = await ask(endpoint, ["wrong"], "wrong")
        return failure, [replica.out for replica in endpoint._client.replicas.all]

    with FakeEndpoint(lambda p: 400 if p == "wrong" else "fine") as one, FakeEndpoint(one.reply) as two:
        failure, out = run(work, one, two)
    assert isinstance(failure, EpisodeError) and out == [False, False]


@pytest.mark.parametrize("status", [413, 422])
def test_a_status_that_speaks_of_the_request_is_believed_the_second_time(status):
    known = Evidence()
    known.note_answer("other", 0.0)
    known.note_refusal("item", known.is_serving_others("item"), 1.0)
    assert not known.blames("item", status)  # or a second of it would end all that is in flight
    known.note_answer("other", 2.0)
    assert not known.blames("item", status)
    known.note_refusal("item", known.is_serving_others("item"), 3.0)
    assert known.blames("item", status) and not known.blames("item", 400)
